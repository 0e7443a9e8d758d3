extension Severity: JSONWord {}
extension GroupState: JSONWord {}
extension Fate: JSONWord {}
extension ResultOrder: JSONWord {}
extension DestinationState: JSONWord {}
extension SuppressionReason: JSONWord {}
