"""What schemathesis has to know of the contract that a JSON Schema cannot say."""

import re

import schemathesis

# How long a read may wait during the run. The contract allows a minute.
WAIT_MS = 20

# Refusals with 400 of requests that fit the document, by their message. The document describes each member
# by itself; these are about bytes, about members together, or about what there is.
BEYOND_SCHEMAS = [
    # JSON Schema counts characters, and these limits are in bytes.
    r"must have 1 to \d+ bytes and no control characters",
    r"a format has at most \d+ bytes",
    r"has a name of \d+ bytes",
    # The two ends of a range, several ranges, both ends of a proof and the log.
    r"the range \d+ to \d+ ends before it starts",
    r"two ranges hold \d+",
    r"^(size|to): must be a whole number from \d+ to",
    r"is more than the \d+ events there are",
    # On the first and the last day an offset from UTC decides.
    r'from 1970 to 9999, not "(1970-01-01|9999-12-31)',
    # Raw ids name something in the same command, and an import has an id that its kind can have.
    r"has one fixed id",
    r"nor one that records of this kind can have",
    r"would belong to itself",
    r"ids up to 65535 are raw",
    r"which an earlier create of this command already has",
    r"a record is imported under an id of a user range",
    # The class of a kind was said when it was defined.
    r"only records of class c can be listed",
    # In data that is otherwise free: markers, and numbers that a double cannot hold.
    r"\$(ref|next|draw|lit)\b",
    r"would lose digits",
]


@schemathesis.hook
def before_call(context, case, kwargs):
    """Makes requests cheaper, or more likely to be carried out. What the document does not allow stays."""
    if isinstance(case.query, dict):
        bound_wait(case.query)
    if isinstance(case.body, dict):
        bound_partitions(case.body)
        loosen(case.body)


def bound_partitions(app):
    """All apps of a node have 4,096 partitions at most, so a few large ones would end all others."""
    if is_whole(app.get("partitions")) and 8 < app["partitions"] <= 1024:
        app["partitions"] = 8


def loosen(command):
    """Nearly every command would be refused for an offset or for a record that it takes at random."""
    if is_whole(command.get("if_offset")):
        del command["if_offset"]
    events = command.get("events")
    for event in events if isinstance(events, list) else []:
        changes = event.get("changes") if isinstance(event, dict) else None
        for change in changes if isinstance(changes, list) else []:
            create = change.get("create") if isinstance(change, dict) else None
            if isinstance(create, dict) and is_whole(create.get("parent")):
                del create["parent"]


def is_whole(value):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and 0 <= value < 2**53 and value == int(value)


def bound_wait(query):
    wait = str(query.get("wait_ms", ""))
    if re.fullmatch(r"[0-9]+", wait) and WAIT_MS < int(wait) <= 60_000:
        query["wait_ms"] = WAIT_MS
    if "wait_ms" not in query and "min_offset" in query:
        query["wait_ms"] = WAIT_MS


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether a failure is one: not if a valid request was refused for what no schema can say."""
    if type(failure).__name__ != "RejectedPositiveData" or response.status_code != 400:
        return True
    error = response.json()
    if error["code"] in ("UNKNOWN_KIND", "UNKNOWN_SEQUENCE"):
        return False
    return not any(re.search(allowed, error["message"]) for allowed in BEYOND_SCHEMAS)
