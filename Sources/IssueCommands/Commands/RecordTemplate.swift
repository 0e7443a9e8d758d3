import IssueProtocol

/// What the options of `report` say about each record, put under what a line says itself.
struct RecordTemplate {
    /// The members of a record, in the words of the wire.
    private let members: [JSONValue.Member]

    init(_ members: [JSONValue.Member]) {
        self.members = members
    }

    /// The application's name that a record from this template has.
    var app: String? {
        members.first { $0.key == "app" }?.value["name"]?.asString
    }

    /// The template for records of an application that has no other name.
    func named(_ name: String?) -> RecordTemplate {
        guard let name, app == nil else { return self }
        var members = members
        let member = JSONValue.Member("name", .string(name))
        if let index = members.firstIndex(where: { $0.key == "app" }) {
            members[index].value = .object([member] + (members[index].value.asObject ?? []))
        } else {
            members.append(JSONValue.Member("app", .object([member])))
        }
        return RecordTemplate(members)
    }

    func record(message: String) -> JSONValue {
        .object([JSONValue.Member("message", .string(message))] + members)
    }

    /// The record with what it does not say itself; metadata and application are completed member by member.
    func record(completing record: [JSONValue.Member]) -> JSONValue {
        var result = record
        for member in members {
            guard let index = result.lastIndex(where: { $0.key == member.key }), !result[index].value.isNull else {
                result.append(member)
                continue
            }
            guard case .object(let own) = result[index].value, case .object(let more) = member.value else { continue }
            let missing = more.filter { candidate in !own.contains { $0.key == candidate.key } }
            result[index].value = .object(own + missing)
        }
        return .object(result)
    }
}
