extension Severity: JSONWord {}
extension Fate: JSONWord {}
