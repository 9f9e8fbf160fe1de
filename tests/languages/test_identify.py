"""Languages are told apart, and names in none are not guessed."""

import pytest

from pipeline.languages.identify import identify


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The government said on Monday that it would raise taxes next year"),
        ("de", "Der Bundestag stimmt am Freitag über das neue Gesetz ab"),
        ("fr", "Le gouvernement annonce une réforme des retraites pour la rentrée"),
        ("es", "El gobierno anuncia una reforma de las pensiones para otoño"),
        ("pt", "O governo anunciou uma reforma da previdência para o próximo ano"),
        ("it", "Il governo annuncia una riforma delle pensioni per l'autunno"),
        ("ru", "Путин подписал закон о повышении налогов"),
        ("ja", "政府は来年から税金を上げると発表した"),
        ("zh", "中国政府宣布新的经济政策"),
        ("ar", "الحكومة تعلن عن إصلاحات جديدة"),
        ("ko", "정부는 내년부터 세금을 인상한다고 발표했다"),
    ],
)
def test_a_sentence_tells_its_language(language, text):
    assert identify(text) == language


@pytest.mark.parametrize("text", ["", "...", "12345"])
def test_what_has_no_words_is_in_no_language(text):
    assert identify(text) is None
