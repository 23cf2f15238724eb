"""The Spark driver: Spark classifies, shuffles and sorts events; the operator aggregates them."""

from elsinore.spark.driver import run, unusable_report
from elsinore.spark.java import Java, find_java
from elsinore.spark.session import local_session

__all__ = ["Java", "find_java", "local_session", "run", "unusable_report"]
