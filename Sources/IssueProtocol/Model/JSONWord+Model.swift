internal import IssueWire

extension GroupState: JSONWord {}
extension ResultOrder: JSONWord {}
extension DestinationState: JSONWord {}
extension SuppressionReason: JSONWord {}
