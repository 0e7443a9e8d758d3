// Those types of the wire protocol that are part of the API for applications. They are imported one by one, since the
// other types of the module are not part of the API. `.ci/api.txt` lists the API.
@_exported public import struct IssueWire.IssueCause
@_exported public import struct IssueWire.IssueContext
@_exported public import struct IssueWire.IssueFate
@_exported public import enum IssueWire.IssueLevel
@_exported public import struct IssueWire.IssueTimestamp
