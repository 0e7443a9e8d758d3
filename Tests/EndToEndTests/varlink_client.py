"""Calls the daemon with the package varlink from PyPI, and checks the replies.

    varlink_client.py SOCKET INTERFACE-FILE
"""
import sys, varlink

address, file = "unix:" + sys.argv[1], sys.argv[2]
client = varlink.Client.new_with_address(address)

with client.open("org.varlink.service") as service:
    info = service.GetInfo()
    assert info["product"] == "issued", info
    assert "org.issued.Collector" in info["interfaces"], info
    assert isinstance(info["url"], str) and info["version"], info
    description = service.GetInterfaceDescription(interface="org.issued.Collector")["description"]
    assert description == open(file).read()

with client.open("org.issued.Collector") as collector:
    ids = []
    for number in range(12):
        record = {
            "message": "Shelf %s is empty" % "abcdefghijkl"[number],
            "app": {"name": "shelf-%d" % number},
            "severity": "warning",
            "metadata": {"number": number, "nothing": None, "list": [1, [2]]},
        }
        receipts = collector.Report(records=[record])["receipts"]
        assert len(receipts) == 1 and receipts[0]["id"], receipts
        ids.append(receipts[0]["id"])

    groups, after = [], None
    while True:
        page = collector.List(limit=5, after=after)
        assert len(page["groups"]) <= 5
        groups += page["groups"]
        after = page.get("next")
        if not after:
            break
    assert len({group["id"] for group in groups}) == 12, groups

    records = []
    for page in collector.Records(_more=True, limit=5):
        records += page["records"]
    assert [record["id"] for record in records] == list(reversed(ids))
    assert records[0]["metadata"]["list"] == [1, [2]], records[0]
    assert records[0]["severity"] == "warning"

    shown = collector.Show(id=ids[3])
    assert shown["record"]["message"] == "Shelf d is empty", shown
    status = collector.Status()
    assert status["received"] == 12, status

    for call, error in [
        (lambda: collector.Show(id="nonsense"), "org.issued.Collector.NotFound"),
        (lambda: collector.List(filter={"since": "yesterday"}), "org.issued.Collector.InvalidFilter"),
        (lambda: collector.Report(records=[]), "org.issued.Collector.InvalidRecord"),
        (lambda: collector.SplitGroup(group="g0"), "org.issued.Collector.NotFound"),
    ]:
        try:
            call()
        except varlink.VarlinkError as refused:
            assert refused.error() == error, (refused.error(), error)
        else:
            raise AssertionError("not refused: " + error)
    assert collector.Status()["received"] == 12
print("all is well")
