"""The reports: every question of a newsroom is one query. Their SQL is in `migrations/reports/`."""

from importlib import resources

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

PARTS = ("helpers", "events", "now", "stories", "publishers", "volume", "world")


def upgrade() -> None:
    """Make the reports."""
    for part in PARTS:
        statements = (resources.files("migrations") / "reports" / f"{part}.sql").read_text(encoding="utf-8")
        # to the driver, as SQLAlchemy would take a colon for a parameter; the driver takes a percent sign for one
        op.get_bind().exec_driver_sql(statements.replace("%", "%%"))


def downgrade() -> None:
    """Not possible, as for 0007, without which there is nothing to report on."""
    raise NotImplementedError(
        "Revision 0009 cannot be undone: restore the database from a backup that was made before it."
    )
