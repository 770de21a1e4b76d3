"""Real small models made on the fly: random weights, but whole, loadable, and the same for the same seed."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any, Literal

__all__ = [
    "CHAT_TEMPLATE",
    "WORDS",
    "make_bert",
    "make_causal",
    "save_byte_tokenizer",
    "save_tokenizer",
    "tiny_causal_sizes",
    "vocabulary_size",
]

_ENGLISH = """
a about after again all also am american an and animal are as at author away baby back bank be because been before best
big bird birth black blue boat body book born both boy bread bridge bring british brother building but by call called
came can capital car cat center century child children church city clean clear close cold color come company computer
could country court cup cut dark daughter day dead death did different do doctor does dog door down drink drive each
early earth east eat end english europe even ever eye face fact family far fast father few field film find fire first
fish five flower fly food foot football for founded four french friend from front game garden gave german germany get
girl give go gold good government great green group grow had half hand happy hard has have he head hear heart her here
high him his history home horse hot hour house how hundred i ice if important in into is island it its july june just
keep kind king kitchen know lake land language large last late law lead league leave left less letter life light like
line little live long look lost love low made make man many map march mark market may me mean men milk million mind
money month moon more most mother mountain mouse much music my name nation national near never new next night nine no
north not nothing now number ocean of off office oil old on once one only open or orange other our out over own page
paper park part party pay people person piano place plane planet plant play player point president prince problem
question queen rain read red remain right river road rock room round run said same saw say school science sea second
see seven she ship short show side since sing sister sit six sky sleep slow small snow so some son song soon south
space speak start state states still stone stop story street strong student summer sun swim table take talk teacher
team tell ten than that the their them then there these they thing think this three through time to today together
took top town train travel tree true two under united until up us use very video voice walk wall want war was watch
water way we week well went were west what when where which white who why wife will win wind window winter with woman
women wood word work world would write year yellow yes yet you young
"""
_GERMAN = """
aber alle als alt am an auch auf aus bei berg bett bild bis blau blume braun brief brot bruder brücke buch bunt da dann
das dass dem den der deutsch deutschland die dorf drei du durch ein eine einem einen einer eines er erde erste es essen
fahren fenster feuer fisch fluss frau freund fünf für garten gegen gehen geld gelb gestern gewinnen groß grün gut haben
hat haus heute hier hoch holz hund ich ihr im immer in ist ja jahr jahrhundert junge jung kalt katze kein kind kinder
kirche kirsche klein können könig kommen kuchen küche land lang leben lesen licht liebe links mädchen macht mann meer
mehr mensch menschen milch mit monat mond musik mutter nach nacht nein neu nicht nie noch nord nur ob oder ohne ort ost
pferd platz präsident rechts regen rot schiff schloss schnee schnell schön schreiben schule schwarz schwester sechs see
sehen sehr sein seit sie sieben sind singen sohn sommer sonne spiel spielen sprache staat stadt stark stein stern
straße süd tag tier tisch tochter tor über um und uns unter vater viel vier vogel vom von vor wagen wald wann war warm
warum was wasser weg weiß welt wenig wer werden west wetter wie wind winter wir wird wo woche wohnen wort zahl zehn
zeit zimmer zug zum zur zwei zwischen
"""
_PIECES = """
ing ed er es en ly tion ness ment able al est st th sch ung heit keit lich ische isch chen lein ern end et te ten t s n
"""
#: The whole words of the vocabulary.
WORDS = tuple(sorted({*_ENGLISH.split(), *_GERMAN.split()}))
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# Latin-1 as a whole: with every letter there, alone and inside a word, no English or German text gives an [UNK].
_LETTERS = (*string.ascii_lowercase, *string.digits, *string.punctuation, *map(chr, range(0xA1, 0x100)), *"–—‘’“”„…€")


#: Messages as control token, text and end.
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
_CONTROL = ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>")


def _vocabulary() -> dict[str, int]:
    single = [letter for letter in _LETTERS if letter == letter.lower()]
    inside = [f"##{piece}" for piece in (*single, *_PIECES.split())]
    return {token: number for number, token in enumerate(dict.fromkeys((*_SPECIAL, *single, *inside, *WORDS)))}


def vocabulary_size() -> int:
    """Return the number of tokens of the tokenizer that :func:`save_tokenizer` writes."""
    return len(_vocabulary())


def save_tokenizer(folder: Path, max_length: int | None, *, segments: bool = True) -> None:
    """Write a WordPiece tokenizer for English and German.

    Args:
        folder: where.
        max_length: the length in tokens at which it cuts texts; None for no limit.
        segments: whether it gives the number of each token's segment.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = _vocabulary()
    inner = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=200))
    # accents stay: without them "schon" and "schön" would be one text
    inner.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    inner.post_processor = processors.BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    names: dict[str, Any] = {f"{token.strip('[]').lower()}_token": token for token in _SPECIAL}
    # BERT takes the types of a pair's two texts; transformers 5 leaves them out unless it is told
    inputs = ["input_ids", *(["token_type_ids"] if segments else []), "attention_mask"]
    if max_length is not None:
        names["model_max_length"] = max_length
    PreTrainedTokenizerFast(tokenizer_object=inner, model_input_names=inputs, **names).save_pretrained(str(folder))


def save_byte_tokenizer(folder: Path, max_length: int | None) -> int:
    """Write RoBERTa's tokenizer of bytes, where a word has other tokens with a space before it; return its size."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import RobertaTokenizer

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator([f" {word}" for word in WORDS] * 2, trainer)
    merges = [tuple(pair) for pair in json.loads(inner.to_str())["model"]["merges"]]
    limit = {} if max_length is None else {"model_max_length": max_length}
    RobertaTokenizer(vocab=inner.get_vocab(), merges=merges, **limit).save_pretrained(str(folder))
    return int(inner.get_vocab_size())


def make_bert(
    folder: Path,
    *,
    hidden: int = 32,
    layers: int = 2,
    heads: int = 4,
    labels: int | None = None,
    pooling: Literal["mean", "cls"] | None = None,
    max_length: int = 64,
    seed: int = 0,
) -> Path:
    """Write a BERT with random weights and a WordPiece tokenizer for English and German; return the folder.

    Args:
        folder: where; made if need be.
        hidden: width of the layers; a multiple of *heads*.
        layers: the number of layers.
        heads: the number of attention heads.
        labels: outputs of a classification head; 1 makes a cross-encoder with one logit.
        pooling: adds what sentence-transformers writes beside the model.
        max_length: positions, and the length in tokens at which texts are cut.
        seed: decides the weights; torch's own generator is left as it was.
    """
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel

    folder.mkdir(parents=True, exist_ok=True)
    sizes: dict[str, Any] = {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": 2 * hidden,
        "max_position_embeddings": max_length,
        "vocab_size": len(_vocabulary()),
        # far above the usual 0.02, with which all texts would have nearly the same vector
        "initializer_range": 0.5,
    }
    if labels is not None:
        sizes["num_labels"] = labels
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = BertConfig(**sizes)
        model = BertModel(config) if labels is None else BertForSequenceClassification(config)
    model.save_pretrained(str(folder))
    save_tokenizer(folder, max_length)
    if pooling is not None:
        parts = [("", "Transformer"), ("1_Pooling", "Pooling")]
        modules = [
            {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for number, (path, kind) in enumerate(parts)
        ]
        modes = {f"pooling_mode_{mode}": mode.startswith(pooling) for mode in ("cls_token", "mean_tokens")}
        (folder / "1_Pooling").mkdir(exist_ok=True)
        _write(folder / "modules.json", modules)
        _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": hidden, **modes})
        _write(folder / "sentence_bert_config.json", {"max_seq_length": max_length, "do_lower_case": False})
    return folder


def make_causal(
    folder: Path,
    config: Any = None,
    *,
    spread: float = 0.2,
    template: str | None = CHAT_TEMPLATE,
    verdicts: tuple[str, ...] = ("yes", "no"),
    max_length: int = 512,
    seed: int = 0,
) -> Path:
    """Write a causal language model with random weights, which leans to verdicts, and its tokenizer; return the folder.

    Args:
        folder: where; made if need be.
        config: of transformers, with :func:`tiny_causal_sizes`; by default of a Llama.
        spread: of the weights of a Llama: at 0.2 every reply begins with a verdict, at 0.5 some do.
        template: of chats; None for none.
        verdicts: words to which the first token of a reply leans.
        max_length: positions of a Llama.
        seed: decides the weights; torch's own generator is left as it was.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast

    vocabulary = _vocabulary()
    inner = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=200))
    inner.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="[UNK]", pad_token="[PAD]", eos_token="<|end|>",
        extra_special_tokens=list(_CONTROL[:-1]),
    )  # fmt: skip
    tokenizer.chat_template = template
    tokenizer.save_pretrained(str(folder))
    if config is None:
        config = LlamaConfig(
            **tiny_causal_sizes() | {"initializer_range": spread},
            num_key_value_heads=2,
            max_position_embeddings=max_length,
        )
    config.eos_token_id, config.pad_token_id, config.bos_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id, None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config)
    if verdicts:
        _lean(model, tokenizer.convert_tokens_to_ids(list(verdicts)), len(_vocabulary()) + 3)
    model.save_pretrained(str(folder))
    return folder


def tiny_causal_sizes() -> dict[str, Any]:
    """Return the sizes of a model of :func:`make_causal`."""
    return {
        "vocab_size": len(_vocabulary()) + len(_CONTROL),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "initializer_range": 0.5,
        "tie_word_embeddings": False,
    }


def _lean(model: Any, tokens: list[int], end: int) -> None:
    """Make tokens probable where a text ends in *end*; which of two, the direction of the hidden state decides."""
    import torch

    generator = torch.Generator().manual_seed(0)
    texts = torch.randint(model.config.vocab_size, (200, 30), generator=generator)
    texts[:, -1] = end
    with torch.no_grad():
        states = model.base_model(texts).last_hidden_state[:, -1]
        mean = states.mean(0)
        ways = torch.linalg.svd(states - mean, full_matrices=False)
        # as probable as all others together, in the mean
        others = model.get_output_embeddings()(mean).logsumexp(-1)
        for number, token in enumerate(tokens):
            way = (-1) ** number * ways.Vh[number // 2] * len(texts) ** 0.5 / ways.S[number // 2]
            across = way - mean * way.dot(mean) / mean.dot(mean)
            model.get_output_embeddings().weight[token] = mean / mean.dot(mean) * others + 1.5 * across


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
