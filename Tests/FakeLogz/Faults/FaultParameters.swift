import IssueProtocol

/// The parameters of a fault in a plan, read by type.
struct FaultParameters {
    private let fault: String
    private let values: JSONValue

    init(of fault: String, _ values: JSONValue) throws(FaultPlanError) {
        guard case .object = values else { throw FaultPlanError("The parameters of “\(fault)” must be an object.") }
        self.fault = fault
        self.values = values
    }

    func count(_ name: String) throws(FaultPlanError) -> Int? {
        try read(name, "a number") { $0.asCount }
    }

    func neededCount(_ name: String) throws(FaultPlanError) -> Int {
        try needed(name, try count(name))
    }

    func text(_ name: String) throws(FaultPlanError) -> String? {
        try read(name, "a text") { $0.asString }
    }

    func neededText(_ name: String) throws(FaultPlanError) -> String {
        try needed(name, try text(name))
    }

    func duration(_ name: String) throws(FaultPlanError) -> Duration? {
        try count(name).map { .milliseconds($0) }
    }

    func neededDuration(_ name: String) throws(FaultPlanError) -> Duration {
        .milliseconds(try neededCount(name))
    }

    func flag(_ name: String) throws(FaultPlanError) -> Bool? {
        try read(name, "true or false") { value in
            guard case .bool(let flag) = value else { return nil }
            return flag
        }
    }

    /// Reads an object of strings.
    func headers(_ name: String) throws(FaultPlanError) -> [HTTPField] {
        try read(name, "an object of texts") { value -> [HTTPField]? in
            guard case .object(let members) = value else { return nil }
            let fields = members.compactMap { member in
                member.value.asString.map { HTTPField(member.key, $0) }
            }
            return fields.count == members.count ? fields : nil
        } ?? []
    }

    private func needed<Value>(_ name: String, _ value: Value?) throws(FaultPlanError) -> Value {
        guard let value else { throw FaultPlanError("“\(fault)” requires “\(name)”.") }
        return value
    }

    private func read<Value>(
        _ name: String, _ kind: String, _ convert: (JSONValue) -> Value?
    ) throws(FaultPlanError) -> Value? {
        guard let value = values[name] else { return nil }
        guard let converted = convert(value) else { throw FaultPlanError("“\(name)” of “\(fault)” must be \(kind).") }
        return converted
    }
}
