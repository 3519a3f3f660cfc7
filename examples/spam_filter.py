"""A spam filter, trained and then tested on messages that it has not seen.

python examples/spam_filter.py messages.tsv    reads lines of a label ("spam" or another), a tab and a text.
Without a file it generates the mail: 4,500 documents for training and 500 for testing, 37 % of them spam.
GPUPRIMS_DEVICE=opencl:cpu python examples/spam_filter.py    chooses a device.
gpuprims profile examples/spam_filter.py    shows the device time of each launch.
"""

import sys

from gpuprims.models import generated_mail, read_mail, train_filter

mail = read_mail(sys.argv[1]) if len(sys.argv) > 1 else generated_mail(5000)
training = train_filter(mail, n_features=1024, test_share=0.1)
print(training)

labels, probabilities = training.filter.label(mail.texts[:5])
print()
for text, label, probability in zip(mail.texts[:5], labels, probabilities, strict=True):
    print(f"{label:6}{probability:.4f}  {text[:60]}")
assert training.parts["test"].error < 0.06
