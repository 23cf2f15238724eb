"""Templates of single queries, as the engine runs them."""

from elsinore.model import Query
from elsinore.plan import Template
from elsinore.plan.assembly import guarded_template
from elsinore.plan.implied import without_implied
from elsinore.plan.stored import stored_template


def template(query: Query) -> Template:
    """Return the template that the engine runs a query by."""
    built = stored_template(without_implied(guarded_template(query)))
    assert isinstance(built, Template), built
    return built
