# SPDX-License-Identifier: MIT
"""The engine Apache Spark: on this machine, or on a cluster."""
import contextlib
import os
import re

import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.storagelevel import StorageLevel

from fleet.errors import FleetError
from fleet.tables import INT, LARGE, TABLES, TEXT

LOGGING = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %m%n
"""
# What Java writes before the message of an exception.
CLASSES = re.compile(r'(Exception in thread "[^"]*" |Caused by: )?((spark|[\w$]+(\.[\w$]+)+): )*')
TYPES = {INT: "BIGINT", TEXT: "STRING", LARGE: "DECIMAL(38, 0)"}


@contextlib.contextmanager
def stderr_in(path):
    """Sends the stderr of the programs that start in this block to a file: Java and Spark have
    messages there even if all is well."""
    own = os.dup(2)
    with open(path, "wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)


def cause_of(error, messages):
    """The first line of an exception, without the stack of Java, and the last error in a file of
    messages, which tells more if Spark or Java ended."""
    text = str(error)
    java = re.search("^: (.*)", text, re.MULTILINE)
    causes = [java[1] if java else text.partition("\n")[0]]
    with open(messages, encoding="utf-8", errors="replace") as file:
        causes += [line for line in file if re.match(r"spark: |\S.*(Error|Exception)", line)][-1:]
    plain = (cause[CLASSES.match(cause).end():].strip().rstrip(".") for cause in causes)
    return "; ".join(dict.fromkeys(plain))


def is_local(master):
    return master.startswith("local")


def configuration(settings, folder):
    """The settings of a session. Those of a cluster are left to the cluster."""
    logging = os.path.join(folder, "log4j2.properties")
    with open(logging, "w", encoding="ascii") as file:
        file.write(LOGGING)
    found = {
        "spark.driver.memory": f"{settings.memory >> 20}m",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{logging}",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.warehouse.dir": os.path.join(folder, "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if is_local(settings.master):
        found |= {
            "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
            "spark.local.dir": folder,
            "spark.sql.shuffle.partitions": str(2 * settings.threads),
        }
    return found


class SparkEngine:
    def __init__(self, settings, folder):
        os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
        if is_local(settings.master):  # no other machine can connect
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.appName("twinfs-fleet").master(settings.master)
        for name, value in configuration(settings, folder).items():
            builder = builder.config(name, value)
        self.messages = os.path.join(folder, "messages")
        try:
            with stderr_in(self.messages):
                self.session = builder.getOrCreate()
        except (PySparkException, Py4JError, RuntimeError) as error:
            raise FleetError(f"cannot start Spark: {cause_of(error, self.messages)}; is Java "
                             "installed, and is --master right?") from None

    @contextlib.contextmanager
    def failing(self):
        try:
            yield
        except (PySparkException, Py4JError) as error:
            raise FleetError(f"Spark: {cause_of(error, self.messages)}") from None

    def close(self):
        self.session.stop()

    def open_tables(self, folders):
        for table, schema in TABLES.items():
            columns = ", ".join(f"{field.name} {TYPES[field.type]}" for field in schema)
            with self.failing():
                frames = [self.session.read.schema(columns).parquet(f"{folder}/{table}")
                          .select(*schema.names) for folder in folders]
                whole = frames[0]
                for frame in frames[1:]:
                    whole = whole.unionByName(frame)
                whole.createOrReplaceTempView(table)

    def add_table(self, name, table):
        with self.failing():
            self.session.createDataFrame(table).createOrReplaceTempView(name)

    def make(self, step, sql):
        with self.failing():
            frame = self.session.sql(sql)
            if step.stored:
                # Without their history, since the plans of later steps would have those of all
                # earlier ones in them, several times.
                frame = frame.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)
            frame.createOrReplaceTempView(step.name)

    def query(self, sql):
        """The names of the columns, and an iterator over the rows, which are not all in memory."""
        with self.failing():
            frame = self.session.sql(sql)
            return frame.columns, self.rows(frame)

    def rows(self, frame):
        with self.failing():
            yield from map(tuple, frame.toLocalIterator())
