"""The tables as statements see them; migrations.py makes them."""

from sqlalchemy import Column, Integer, MetaData, Table, Text

metadata = MetaData()

sessions = Table(
    "skillian_sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text),
    Column("title", Text),
    Column("created", Text),
    Column("updated", Text),
)

# At most one turn of a session is `running`, and that is its last; the others are `done` or
# `broken`. `last_message` and `last_event` are the session's highest numbers as of this turn.
turns = Table(
    "skillian_turns",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("state", Text),
    Column("holder", Text),
    Column("lease_until", Text),
    Column("last_message", Integer),
    Column("last_event", Integer),
)

# Only rows are added. `shown` is 1 where a message is shown whatever becomes of its turn; the
# others are shown when it is done.
messages = Table(
    "skillian_messages",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("turn", Integer),
    Column("shown", Integer),
    Column("body", Text),
)

events = Table(
    "skillian_events",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("turn", Integer),
    Column("type", Text),
    Column("body", Text),
)

comparisons = Table(
    "skillian_comparisons",
    metadata,
    Column("key", Text, primary_key=True),
    Column("body", Text),
    Column("expires", Text),
)
