"""Which language a text is in, by py3langid (Lui and Baldwin's langid.py): no network, the model comes with the package."""

from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

MIN_CONFIDENCE = 0.5
"""The probability from which the answer is believed: names and single words are in no language."""
MAX_CHARACTERS = 1_000
"""Characters that are looked at."""


@cache
def _identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def identify(text: str) -> str | None:
    """The ISO 639-1 code of the language of `text`; None if it cannot be told."""
    language, probability = _identifier().classify(text[:MAX_CHARACTERS])
    return language if probability >= MIN_CONFIDENCE else None
