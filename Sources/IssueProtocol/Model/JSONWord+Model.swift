internal import IssueWire

extension GroupState: JSONWord {}
extension ResultOrder: JSONWord {}
extension HistogramDimension: JSONWord {}
extension DestinationState: JSONWord {}
extension SuppressionReason: JSONWord {}
