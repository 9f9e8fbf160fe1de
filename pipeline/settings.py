"""The settings: what each is called, what it may be, and what follows from it. `pipeline.config` says where they come from."""

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from pipeline.languages.codes import known_tag
from pipeline.similarity.universal import ROWS
from pipeline.stages.edition_rules import EditionRule, InvalidRules, RuleOf, described, parse_rules, rule_of, splits_of
from pipeline.stages.profiles import Profile, cluster_rule, detect_rule, stems
from pipeline.stages.rules import ClusterRule, DetectRule, NormaliseRule
from pipeline.stages.weights import InvalidWeights, Weights, parse, shipped
from pipeline.times import HOUR

RULES_OF = "NEWSBURST_RULES ["
"""How the names begin under which `rule` says the rules of an edition."""


class SettingsError(ValueError):
    """A setting that cannot be; the message names the variable, its value and what is allowed."""


class Settings(BaseSettings):
    """What can be set, each by the environment variable `NEWSBURST_` and its name."""

    model_config = SettingsConfigDict(env_prefix="NEWSBURST_", frozen=True, extra="ignore")

    kafka: Annotated[str, Field(description="bootstrap servers, separated by commas")] = "127.0.0.1:9092"
    kafka_security: Annotated[
        Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"],
        Field(description="or `SSL`, `SASL_PLAINTEXT`, `SASL_SSL`: see [security](docs/security.md)"),
    ] = "PLAINTEXT"
    kafka_mechanism: Annotated[
        Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"],
        Field(description="or `SCRAM-SHA-256`, `PLAIN`: how to log in, with `SASL_...`"),
    ] = "SCRAM-SHA-512"
    kafka_user: Annotated[str | None, Field(description="who logs in")] = None
    kafka_password: Annotated[SecretStr | None, Field(description="the password; the next setting is safer")] = None
    kafka_password_file: Annotated[Path | None, Field(description="file that holds it")] = None
    kafka_ca: Annotated[
        Path | None,
        Field(description="PEM file of the certificate authorities to trust; empty: those that the system trusts"),
    ] = None
    kafka_certificate: Annotated[Path | None, Field(description="PEM file of our own certificate")] = None
    kafka_key: Annotated[Path | None, Field(description="PEM file of its key")] = None
    postgres: Annotated[str, Field(description="URI", repr=False)] = "postgresql://127.0.0.1:5432/newsburst"
    postgres_password_file: Annotated[
        Path | None, Field(description="file that holds its password, if the URI has none")
    ] = None
    data: Annotated[Path, Field(description="folder of the embedded services")] = Path(".newsburst")
    topic_prefix: Annotated[
        str,
        Field(description="first part of topic names; also the consumer group", pattern=r"^[A-Za-z0-9._-]+$"),
    ] = "newsburst"
    partitions: Annotated[int, Field(description="of the topics that `topics create` makes", ge=1)] = 4
    replication: Annotated[int, Field(description="replicas of those topics", ge=1)] = 1
    language: Annotated[
        str, Field(description="language of stories that do not name theirs and whose text does not show it")
    ] = "en"
    profile: Annotated[
        Profile, Field(description="rules of matching: `newsburst`, or the papers' `newshound` or `hu-you`")
    ] = "newsburst"
    weights: Annotated[
        Path | None,
        Field(description="file of weights that `newsburst fit` wrote; empty: the shipped ones"),
    ] = None
    threshold: Annotated[int, Field(description="an event is more stories than this within the window", ge=1)] = 15
    window_hours: Annotated[float, Field(description="length of the window", gt=0, le=87_600)] = 4.0
    min_publishers: Annotated[int, Field(description="publishers that an event needs in its window", ge=1)] = 10
    emerging_threshold: Annotated[
        int,
        Field(
            description="a cluster is announced as emerging (an update with the state `emerging`, sequence 0) when it has more "
            "stories than this, 5 for example; 0: none is",
            ge=0,
        ),
    ] = 0
    emerging_hours: Annotated[float, Field(description="time within which it has them", gt=0, le=87_600)] = 2.0
    emerging_publishers: Annotated[int, Field(description="publishers that it needs in that time", ge=1)] = 4
    rules: Annotated[
        Path | None, Field(description="TOML file with rules of single editions, [as below](#rules-of-an-edition)")
    ] = None
    look_back_hours: Annotated[
        float,
        Field(
            description="how long a story can be matched, and how long a cluster lives without a new story",
            gt=0,
            le=87_600,
        ),
    ] = 96.0
    bands: Annotated[
        int, Field(description="bands of the MinHash signature; `newsburst tune` recommends", ge=1, le=120)
    ] = 60
    rows: Annotated[int, Field(description="rows of a band; bands times rows are at most 120", ge=1, le=120)] = 1
    session_seconds: Annotated[
        float,
        Field(
            description="how long the partitions of a killed worker wait for another; less than 6 needs brokers that allow it "
            "(`group.min.session.timeout.ms`)",
            ge=0.5,
            le=300,
        ),
    ] = 6.0
    standby: Annotated[
        bool, Field(description="`true`: workers keep the state of all partitions, and take over within moments")
    ] = False
    metrics_port: Annotated[
        int, Field(description="port of the worker's health and Prometheus metrics; 0: none", ge=0, le=65_535)
    ] = 0
    metrics_host: Annotated[str, Field(description="address on which it listens; `0.0.0.0`: all")] = "127.0.0.1"
    web_host: Annotated[str, Field(description="address on which `newsburst web` listens; `0.0.0.0`: all")] = (
        "127.0.0.1"
    )
    web_port: Annotated[int, Field(description="its port; 0: any free one", ge=0, le=65_535)] = 8080
    web_url: Annotated[
        str | None,
        Field(
            description="where readers find it, such as `https://news.example`; empty: the address that they ask",
            pattern="^https?://[^/]+$",
        ),
    ] = None
    web_token: Annotated[
        SecretStr | None,
        Field(description="what readers have to send; empty: anyone may read. The next setting is safer"),
    ] = None
    web_token_file: Annotated[Path | None, Field(description="file that holds it")] = None
    web_editor_token: Annotated[
        SecretStr | None,
        Field(
            description="what editors have to send, who correct events on the pages; empty: nobody can. The next setting is safer"
        ),
    ] = None
    web_editor_token_file: Annotated[Path | None, Field(description="file that holds it")] = None
    smtp: Annotated[
        SecretStr | None,
        Field(description="server that sends mail to subscribers: `smtp://user:password@host:587`, or `smtps://`"),
    ] = None
    mail_from: Annotated[str, Field(description="sender of that mail", pattern=r"^[^\s<>]+@[^\s<>]+$")] = (
        "newsburst@localhost"
    )
    cloudevents: Annotated[
        bool,
        Field(
            description="`true`: messages on `events` have the [headers of CloudEvents 1.0](docs/operations.md#cloudevents)"
        ),
    ] = False
    traces: Annotated[
        bool,
        Field(
            description="`true`: workers send [spans of single stories](docs/operations.md#traces) to an OpenTelemetry "
            "collector; needs the extra `traces`"
        ),
    ] = False
    log_level: Annotated[str, Field(description="DEBUG, INFO, WARNING or ERROR")] = "WARNING"
    log_format: Annotated[Literal["text", "json"], Field(description="or `json`: one object a line")] = "text"

    @field_validator(
        "weights",
        "rules",
        "kafka_user",
        "kafka_password",
        "kafka_password_file",
        "postgres_password_file",
        "kafka_ca",
        "kafka_certificate",
        "kafka_key",
        "smtp",
        "web_url",
        "web_token",
        "web_token_file",
        "web_editor_token",
        "web_editor_token_file",
        mode="before",
    )
    @classmethod
    def _empty_is_none(cls, value: object) -> object:
        return value or None

    @model_validator(mode="after")
    def _fits_signature(self) -> Self:
        if self.bands * self.rows > ROWS:
            raise ValueError(f"NEWSBURST_BANDS={self.bands} times NEWSBURST_ROWS={self.rows} is more than {ROWS}")
        return self

    @model_validator(mode="after")
    def _can_log_in(self) -> Self:
        if self.kafka_security.startswith("SASL") and not (
            self.kafka_user and (self.kafka_password or self.kafka_password_file)
        ):
            raise ValueError(
                f"NEWSBURST_KAFKA_SECURITY={self.kafka_security} needs NEWSBURST_KAFKA_USER and NEWSBURST_KAFKA_PASSWORD_FILE "
                "(or NEWSBURST_KAFKA_PASSWORD)"
            )
        return self

    @field_validator("language")
    @classmethod
    def _known_language(cls, value: str) -> str:
        tag = known_tag(value)
        if tag is None:
            raise ValueError("is no language tag: use `en` or `pt-BR`")
        return tag

    @field_validator("log_level")
    @classmethod
    def _known_level(cls, value: str) -> str:
        if value.upper() not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
            raise ValueError("must be DEBUG, INFO, WARNING or ERROR")
        return value.upper()

    def secret(self) -> str | None:
        """The password for Kafka. Raises SettingsError."""
        return self._secret("kafka_password")

    def token(self) -> str | None:
        """The token that readers of the pages and the API need. Raises SettingsError."""
        return self._secret("web_token")

    def editor_token(self) -> str | None:
        """The token that those need who correct events on the pages. Raises SettingsError."""
        return self._secret("web_editor_token")

    def _secret(self, name: str) -> str | None:
        path: Path | None = getattr(self, f"{name}_file")
        given: SecretStr | None = getattr(self, name)
        if path is None:
            return given.get_secret_value() if given else None
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"NEWSBURST_{name.upper()}_FILE={str(path)!r}: {error}") from None

    def topic(self, name: str) -> str:
        """The full name of a topic."""
        return f"{self.topic_prefix}.{name}"

    def cluster_rule(self, profile: Profile | None = None) -> ClusterRule:
        """The rule of the cluster stage."""
        return cluster_rule(profile or self.profile, self._cluster_rule())

    def _cluster_rule(self) -> ClusterRule:
        return ClusterRule(look_back=round(self.look_back_hours * HOUR), bands=self.bands, rows=self.rows)

    def detect_rule(self, profile: Profile | None = None) -> DetectRule:
        """The rule of the detect stage."""
        rule = DetectRule(
            threshold=self.threshold,
            window=round(self.window_hours * HOUR),
            min_publishers=self.min_publishers,
            look_back=round(self.look_back_hours * HOUR),
            emerging_threshold=self.emerging_threshold,
            emerging_window=round(self.emerging_hours * HOUR),
            emerging_publishers=self.emerging_publishers,
        )
        return detect_rule(profile or self.profile, rule)

    def normalise_rule(self, profile: Profile | None = None) -> NormaliseRule:
        """The rule of the normalise stage. Raises SettingsError."""
        return NormaliseRule(self.language, stems(profile or self.profile), splits_of(self._edition_rules()))

    def detect_rules(self) -> RuleOf:
        """The rule of the detect stage for each edition. Raises SettingsError."""
        return rule_of(self.detect_rule(), self._edition_rules())

    def _edition_rules(self) -> Mapping[str, EditionRule]:
        if self.rules is None:
            return {}
        try:
            return parse_rules(self.rules.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError, InvalidRules) as error:
            raise SettingsError(f"NEWSBURST_RULES={str(self.rules)!r}: {error}") from None

    def rule(self) -> dict[str, str]:
        """What the state of the stages depends on: workers that share it must agree on these settings. Raises SettingsError."""
        weights = self.score_weights()
        names = ("profile", "threshold", "window_hours", "min_publishers", "look_back_hours", "bands", "rows")
        emerging = ("emerging_threshold", "emerging_hours", "emerging_publishers")
        values = {
            **{name: getattr(self, name) for name in (*names, *emerging)},
            "weights": "shipped" if weights == shipped() else _digest(weights),
        }
        of_editions = {f"{RULES_OF}{edition}]": text for edition, text in described(self._edition_rules()).items()}
        return {f"NEWSBURST_{name.upper()}": str(value) for name, value in values.items()} | of_editions

    def score_weights(self) -> Weights:
        """The weights of the scores. Raises SettingsError."""
        if self.weights is None:
            return shipped()
        try:
            return parse(self.weights.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, InvalidWeights) as error:
            raise SettingsError(f"NEWSBURST_WEIGHTS={str(self.weights)!r}: {error}") from None

    def environment(self) -> dict[str, str]:
        """These settings as environment variables, for a process of ours; empty where there is none: it must not find another."""
        return {f"NEWSBURST_{name.upper()}": _text(value) for name, value in self.model_dump().items()}


def _text(value: object) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return "" if value is None else str(value)


def _digest(value: object) -> str:
    return blake2b(repr(value).encode(), digest_size=8).hexdigest()
