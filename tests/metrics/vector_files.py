"""Files of word vectors in every format, all of the same ten words."""

from __future__ import annotations

import gzip

import numpy as np

WORDS = ["the", "cat", "Cat", "dog", ",", "n't", "do", "naïve", "zero", "東京"]


VALUES = np.array(
    [
        [0.5, -1.25, 3.0],
        [1.0, 2.0, -0.5],
        [-1.0, 0.25, 0.125],
        [0.1, 2.5, 1e-3],
        [-0.3, 0.7, 0.2],
        [4.0, -4.0, 1.5],
        [0.9, 0.8, 0.7],
        [1.1, -2.2, 3.3],
        [0.0, 0.0, 0.0],
        [2.0, 2.0, -2.0],
    ],
    dtype=np.float32,
)


def text_of(words=WORDS, values=VALUES, end="\n"):
    rows = zip(words, values.tolist(), strict=True)
    return "".join(f"{word} {' '.join(map(repr, row))}{end}" for word, row in rows).encode()


def binary_of(words=WORDS, values=VALUES, end=b"\n"):
    rows = (word.encode() + b" " + row.astype("<f4").tobytes() + end for word, row in zip(words, values, strict=True))
    return f"{len(words)} {values.shape[1]}\n".encode() + b"".join(rows)


def folder_of(path, words=WORDS, values=VALUES):
    path.mkdir()
    np.save(path / "vectors.npy", values)
    (path / "words.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")


FILES = {
    "glove.txt": text_of(),
    "glove.txt.gz": gzip.compress(text_of()),
    "windows.txt": text_of(end="\r\n"),
    "last.txt": text_of().rstrip(b"\n"),
    "word2vec.txt": b"10 3\n" + text_of(),
    "fasttext.vec": b"10 3\n" + text_of(end=" \n"),
    "fasttext.vec.gz": gzip.compress(b"10 3\n" + text_of(end=" \n")),
    "word2vec.bin": binary_of(),
    "gensim.bin": binary_of(end=b""),
    "word2vec.bin.gz": gzip.compress(binary_of()),
    "binary-by-content": binary_of(),
}
