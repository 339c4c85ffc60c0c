"""The ids that a model takes."""

from torch import nn

from attnbook.examination.calling import CannotCall
from attnbook.examination.exam import Exam
from attnbook.language import _

N_IDS = 6  # of a sentence
BATCH = 3


def vocabulary_sizes(exam: Exam) -> list[int]:
    """List the sizes of the embedding tables.

    Raises:  CannotCall if there is none and none was said
    """
    if exam.facts.vocabulary:
        return [exam.facts.vocabulary]
    tables = [m for root in exam.subject.modules for m in root.modules()]
    sizes = [m.num_embeddings for m in tables if isinstance(m, nn.Embedding)]
    if not sizes:
        sizes = [max(p.shape) for p in exam.subject.parameters() if p.dim() == 2][:1]
    if not sizes:
        raise CannotCall(_("I cannot find the size of the vocabulary: pass vocabulary=."))
    return sizes
