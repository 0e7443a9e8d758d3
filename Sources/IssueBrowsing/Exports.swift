// The types of the wire protocol that applications use. They are imported one by one, since the other types of these
// modules are not part of the API. `.ci/api` lists the API.
@_exported public import struct IssueProtocol.DaemonStatus
@_exported public import struct IssueProtocol.DeadLetter
@_exported public import enum IssueProtocol.DeploymentChange
@_exported public import enum IssueProtocol.DestinationState
@_exported public import struct IssueProtocol.DestinationStatus
@_exported public import enum IssueProtocol.GroupState
@_exported public import enum IssueProtocol.HistogramDimension
@_exported public import struct IssueProtocol.HistogramSeries
@_exported public import struct IssueProtocol.IssueDetails
@_exported public import struct IssueProtocol.IssueFilter
@_exported public import struct IssueProtocol.IssueGroup
@_exported public import struct IssueProtocol.NotifierStatus
@_exported public import struct IssueProtocol.RedactionCount
@_exported public import enum IssueProtocol.ResultOrder
@_exported public import struct IssueProtocol.StoreStatus
@_exported public import struct IssueProtocol.StoredRecord
@_exported public import struct IssueProtocol.Suppression
@_exported public import enum IssueProtocol.SuppressionReason
@_exported public import struct IssueWire.BacktraceFrame
@_exported public import struct IssueWire.IssueCause
@_exported public import struct IssueWire.IssueContext
@_exported public import struct IssueWire.IssueFate
@_exported public import enum IssueWire.IssueLevel
@_exported public import struct IssueWire.IssueTimestamp
