"""Cosine of pooled static word vectors: word2vec, GloVe, fastText."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import regex  # type: ignore[import-untyped,unused-ignore]

from assay.common.packages import ABSENT
from assay.exceptions import InputError
from assay.metrics.base import Batch, Declaration, Metric, option
from assay.metrics.text import tokenizer_signature
from assay.paths import user_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.words.token_vectors import TokenVectors
    from assay.metrics.words.vectors import WordVectors

# letters, marks and digits; the underscore, which joins words in some tables; the joiners of Persian and Indic spelling
_LETTER: Final = r"[\p{L}\p{M}\p{N}_\u200C\u200D]"
_TOKEN = regex.compile(
    rf"""
      (?:\p{{L}}\.){{2,}}                                   # U.S.
    | \p{{N}}+(?:[.,:]\p{{N}}+)+{_LETTER}*                  # 3.14, 1,000th, 10:30
    | {_LETTER}+(?:['-]{_LETTER}+)*                         # don't, well-known
    | (?<!\S)'(?i:s|m|d|re|ve|ll)(?!{_LETTER})              # 's, in texts that are split already
    | ([^\s])\1*                                            # ..., --
    """,
    regex.VERSION1 | regex.VERBOSE,
)
_PART = regex.compile(rf"{_LETTER}+|[^\s]")
_CLITIC = regex.compile(r"(.+?)(n't|'(?:s|m|d|re|ve|ll))", regex.IGNORECASE | regex.DOTALL)
_NUMBER = regex.compile(rf"\p{{N}}+(?:[.,:]\p{{N}}+)+{_LETTER}*")
#: Curved apostrophes and Unicode hyphens become ASCII, soft hyphens are dropped.
_REPLACEMENTS: Final = str.maketrans(
    {"\u2019": "'", "\u02bc": "'", "\uff07": "'", "\u2010": "-", "\u2011": "-", "\u00ad": None}
)


@dataclass(frozen=True)
class Static(Metric):
    """Cosine, from -1 to 1, of the pooled static vectors of the words of two texts.

    A word counts as often as it occurs; words without a vector are ignored. A text without any known word has no
    vector, and scores 0 even with an identical text; :meth:`flags` marks such texts. The score is also 0 if a pooled
    vector is zero.

    Tables differ in what counts as a word: GloVe was trained on the Penn Treebank's tokens (``do n't``, ``the king
    's``, ``well-known``, ``1,000``, ``u.s.``, ``...``), others keep ``don't`` whole. So the longest form of a word is
    looked up first, and its parts only if it is unknown, see :func:`split_text` and :func:`split_parts`. Texts are
    normalised to NFC. Scripts without spaces are not segmented, so their words are not found. None of this holds for a
    folder with the vectors of a tokenizer's tokens: that tokenizer splits the texts.
    """

    subject: str = option(
        help="FILE of word vectors (word2vec, GloVe, fastText .vec), or a folder of word or token vectors"
    )
    pooling: Literal["mean", "max"] = option("mean", "mean, or the largest value of each dimension")
    case: Literal["lower", "keep", "auto"] = option(
        "auto", "look up words in lower case, as written, or as written and then in lower case"
    )

    declaration: ClassVar[Declaration] = Declaration(
        name="static",
        kind="embedding",
        summary="cosine of pooled static word vectors",
        formula="cos(pooled word vectors of the reference, of the candidate)",
        low=-1.0,
        high=1.0,
        symmetric=True,
        citation=(
            "Abdalla, Vishnubhotla and Mohammad 2023, What Makes Sentences Semantically Related? (STR-2022), table 5"
        ),
        subject="FILE",
        provider=("numpy", "regex"),
    )

    @property
    def path(self) -> Path:
        """The path of the file or folder with the vectors."""
        return user_path(self.subject)

    def files(self) -> tuple[str, ...]:
        """Return the file or folder with the vectors, as the user typed it."""
        return (self.subject,)

    def check_available(self) -> None:
        """Check that the vectors exist, in a supported format.

        Raises:
            InputError: the file or folder is missing, or has an unsupported format.
            UnavailableError: the folder has a model that needs its library, or a package is not installed.
        """
        from assay.metrics.words.token_vectors import check_token_folder, token_folder
        from assay.metrics.words.vectors import check_source

        super().check_available()
        folder = token_folder(self.path)
        if folder is None:
            check_source(self.path)
        else:
            check_token_folder(self.path, folder)

    def data_signature(self) -> dict[str, str]:
        """Return 16 digits of the vectors' digest (``absent`` if there are none) and the version of the Unicode tables.

        Raises:
            InputError: the vectors cannot be read, or a configuration in the folder is malformed.
        """
        from assay.metrics.words.token_vectors import token_digest, token_folder
        from assay.metrics.words.vectors import source_digest

        folder = token_folder(self.path)
        try:
            digest = (source_digest(self.path) if folder is None else token_digest(folder))[:16]
        except (FileNotFoundError, NotADirectoryError):
            digest = ABSENT
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror or error})") from None
        return {"vectors": digest} | tokenizer_signature()

    def score(self, batch: Batch) -> NDArray[np.float64]:
        """Return the cosine of each pair, from -1 to 1; 0 if a text has no vector: float64, shape ``(len(batch),)``.

        Raises:
            InputError: the vectors are absent or broken, or ``case`` is set for a model with a tokenizer of its own.
            UnavailableError: the folder has a model that needs its library, or a package is not installed.
        """
        import numpy as np

        texts, (left, right) = _distinct_texts(batch)
        pooled = self._pooled_vectors(texts)
        lengths = np.sqrt((pooled**2).sum(axis=1))
        length_products = lengths[left] * lengths[right]
        inner_products = (pooled[left] * pooled[right]).sum(axis=1)
        cosines = np.divide(inner_products, length_products, out=np.zeros(len(batch)), where=length_products > 0)
        bounded: NDArray[np.float64] = np.clip(cosines, -1.0, 1.0)
        return bounded

    def flags(self, batch: Batch) -> NDArray[np.uint8]:
        """Return the flags of texts without a known word (:class:`assay.metrics.scores.Flag`).

        They are uint8, shape ``(len(batch),)``.

        Raises:
            InputError, UnavailableError: as for :meth:`score`.
        """
        import numpy as np

        from assay.metrics.scores import Flag

        texts, (left, right) = _distinct_texts(batch)
        rows_of_texts = self._row_numbers(self._open(), texts)
        is_unknown = np.array([not rows for rows in rows_of_texts], dtype=np.uint8)
        reference_flags: NDArray[np.uint8] = is_unknown[left] * np.uint8(Flag.REFERENCE_EMPTY)
        return reference_flags | (is_unknown[right] * np.uint8(Flag.CANDIDATE_EMPTY))

    def _open(self) -> WordVectors | TokenVectors:
        """Return the vectors of words; of a model with a tokenizer of its own, those of its tokens.

        Raises:
            InputError: the vectors are absent or broken.
            UnavailableError: the folder has a model that needs its library, or a package is not installed.
        """
        from assay.metrics.words.token_vectors import check_token_folder, open_token_vectors, token_digest, token_folder
        from assay.metrics.words.vectors import open_vectors

        folder = token_folder(self.path)
        if folder is None:
            return open_vectors(self.path)
        check_token_folder(self.path, folder)
        return open_token_vectors(folder, token_digest(folder))

    def _pooled_vectors(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the pooled vector of each text, float64, shape ``(len(texts), dimensions)``.

        The vector of a text without a known word is zero.

        Raises:
            InputError, UnavailableError: as for :meth:`score`.
        """
        import numpy as np

        vectors = self._open()
        rows_of_texts = self._row_numbers(vectors, texts)
        all_rows = np.array(list(chain.from_iterable(rows_of_texts)), dtype=np.intp)
        distinct, index = np.unique(all_rows, return_inverse=True)
        table = vectors.vectors_at(distinct)
        pooled = np.zeros((len(texts), vectors.dimensions))
        end = 0
        # text by text, so that the order of each sum depends on the text alone, and memory on the longest text
        for text_index, rows in enumerate(rows_of_texts):
            start, end = end, end + len(rows)
            if rows:
                word_vectors = table[index[start:end]].astype(np.float64)
                pooled[text_index] = word_vectors.max(axis=0) if self.pooling == "max" else word_vectors.mean(axis=0)
        return pooled

    def _row_numbers(self, vectors: WordVectors | TokenVectors, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the table rows of each text's known words, in order.

        A token that the table lacks as a whole counts by its parts; a text without any known word has an empty list. A
        model with a tokenizer of its own has vectors of its tokens.

        Raises:
            InputError: the option ``case`` is set for such a model.
        """
        from assay.metrics.words.token_vectors import TokenVectors

        if isinstance(vectors, TokenVectors):
            if self.case != "auto":
                raise InputError(
                    f"metric {self}: case has no effect on a model with a tokenizer of its own; leave it out"
                )
            return vectors.rows_of_texts([text.strip() for text in texts])
        tokens_of_texts = [split_text(text) for text in texts]
        row_of = vectors.rows_by_word(list(chain.from_iterable(tokens_of_texts)), self.case)
        rows_of_token = self._row_numbers_of_tokens(vectors, row_of)
        rows_of_texts = []
        for tokens in tokens_of_texts:
            rows_of_texts.append(list(chain.from_iterable(rows_of_token[token] for token in tokens)))
        return rows_of_texts

    def _row_numbers_of_tokens(self, vectors: WordVectors, row_of: dict[str, int]) -> dict[str, list[int]]:
        """Return the numbers of the table rows by token: its own row, or else those of its known parts, maybe none.

        Args:
            vectors: the table.
            row_of: the number of each token's row, -1 if the table lacks the token.
        """
        parts_of = {token: split_parts(token) for token, row in row_of.items() if row < 0}
        new_parts = [piece for piece in chain.from_iterable(parts_of.values()) if piece not in row_of]
        row_of_word = row_of | vectors.rows_by_word(new_parts, self.case)
        rows_of_token = {}
        for token in row_of:
            rows = [row_of_word[piece] for piece in parts_of.get(token, [token])]
            rows_of_token[token] = [row for row in rows if row >= 0]
        return rows_of_token


def split_text(text: str) -> list[str]:
    """Return the tokens of a text, each in its longest form: words, numbers and runs of one punctuation mark.

    Apostrophes and hyphens between letters belong to a word; points, commas and colons between digits belong to a
    number; points belong to an abbreviation such as ``U.S.``. Curved apostrophes become straight ones.

    Example:
        >>> split_text("He won’t pay $1,000...")
        ['He', "won't", 'pay', '$', '1,000', '...']
    """
    normalised = unicodedata.normalize("NFC", text).translate(_REPLACEMENTS)
    return [match.group() for match in _TOKEN.finditer(normalised)]


def split_parts(token: str) -> list[str]:
    """Return the parts of a token that has no vector as a whole; a number is not divided.

    English clitics are split off as in the Penn Treebank; other tokens are split at punctuation marks.

    Example:
        >>> split_parts("won't"), split_parts("Paris-based")
        (['wo', "n't"], ['Paris', '-', 'based'])
    """
    if _NUMBER.fullmatch(token):
        return [token]
    clitic = _CLITIC.fullmatch(token)
    if clitic is None:
        return list(_PART.findall(token))
    return [*_PART.findall(clitic[1]), clitic[2]]


def _distinct_texts(batch: Batch) -> tuple[list[str], tuple[list[int], list[int]]]:
    """Return the distinct texts of a batch, and their indices: one per reference, and one per candidate."""
    index_of: dict[str, int] = {}
    left = [index_of.setdefault(text, len(index_of)) for text in batch.references]
    right = [index_of.setdefault(text, len(index_of)) for text in batch.candidates]
    return list(index_of), (left, right)
