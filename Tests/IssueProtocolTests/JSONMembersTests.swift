import IssueProtocol
import Testing

@Suite("Members of JSON objects")
struct JSONMembersTests {
    @Test("Members are written in the order of their declaration, without absent values")
    func writing() {
        #expect(text(Parcel(id: "a")) == #"{"id":"a","weight":1}"#)
        #expect(
            text(Parcel(id: "a", note: "n", weight: 2, labels: ["x"], size: .init(width: 3, height: 4)))
                == #"{"id":"a","note":"n","weight":2,"labels":["x"],"width":3,"height":4}"#)
    }

    @Test("Members that are absent or null have their initial values")
    func absence() throws {
        let least = Parcel(id: "a")
        #expect(try Parcel(json: #"{"id":"a"}"#) == least)
        #expect(try Parcel(json: #"{"id":"a","note":null,"weight":null,"labels":null,"width":null}"#) == least)
    }

    @Test("Members are found in any order, and unknown ones are skipped")
    func order() throws {
        let parcel = Parcel(id: "a", note: "n", weight: 2, labels: ["x"], size: .init(width: 3, height: 4))
        #expect(
            try Parcel(
                json: #"""
                    {"height":4,"later":{"id":1},"labels":["x"],"weight":2,"width":3,"n\u006fte":"n","id":"a"}
                    """#)
                == parcel)
    }

    @Test("Unknown members of a filter, purge, repair or requeue are refused, unless they are null")
    func closed() throws {
        #expect(try IssueFilter(json: #"{"until":null,"later":null,"apps":["a"]}"#) == IssueFilter(apps: ["a"]))
        for json in [#"{"app":"a"}"#, #"{"apps":["a"],"app":"a"}"#, #"{"app":"a","apps":["a"]}"#] {
            #expect(throws: FieldError(field: "app", reason: "is unknown")) { try IssueFilter(json: json) }
        }
        #expect(throws: FieldError(field: "filter.end_user", reason: "is unknown")) {
            try PurgeParameters(json: #"{"filter":{"apps":["a"],"end_user":["b"]}}"#)
        }
        #expect(throws: FieldError(field: "dryrun", reason: "is unknown")) {
            try RepairParameters(json: #"{"dryrun":true}"#)
        }
        #expect(throws: FieldError(field: "record", reason: "is unknown")) {
            try RequeueParameters(json: #"{"record":["a"]}"#)
        }
        // A null member is absent, and affects no other one.
        #expect(try PurgeParameters(json: #"{"filter":{},"dry_run":true,"x":null}"#).isDryRun == true)
        #expect(try RequeueParameters(json: #"{"x":null,"destination":"d","y":null}"#).destination == "d")
        #expect(throws: FieldError(field: "dryrun", reason: "is unknown")) {
            try PurgeParameters(json: #"{"filter":{"apps":["a"]},"dryrun":true}"#)
        }
    }

    @Test("The last of several members with the same key counts, even if it is null")
    func duplicates() throws {
        #expect(try Parcel(json: #"{"id":"a","id":"b","weight":2,"weight":null}"#) == Parcel(id: "b"))
        #expect(try Parcel(json: #"{"id":"a","labels":["x"],"labels":null}"#) == Parcel(id: "a"))
        #expect(throws: FieldError(field: "id", reason: "is required")) {
            try Parcel(json: #"{"id":"a","id":null}"#)
        }
        #expect(try Parcel(json: #"{"id":null,"id":"a"}"#) == Parcel(id: "a"))
    }

    @Test(
        "An error names the member and the reason",
        arguments: [
            (#"{}"#, "id: is required"),
            (#"1"#, "the value must be an object"),
            (#"{"id":1}"#, "id: must be a string"),
            (#"{"id":"a","note":""}"#, "note: must not be empty"),
            (#"{"id":"a","labels":["x",1]}"#, "labels.1: must be a string"),
            (#"{"id":"a","width":"x"}"#, "width: must be an integer"),
            (#"{"id":"a","later":[}"#, "later: is malformed JSON"),
            (#"{"id":"a","note":nul}"#, "note: is malformed JSON"),
            (#"{"id":"a""#, "the value is malformed JSON"),
        ])
    func errors(json: String, expected: String) {
        do {
            let parcel = try Parcel(json: json)
            Issue.record("\(parcel) was accepted")
        } catch {
            #expect(error.description == expected)
        }
    }

    @Test("The names of a type's members can be listed")
    func keys() {
        let members = JSONMembers.names(of: Parcel.self)
        #expect(members.map(\.name) == ["id", "note", "weight", "labels", "width", "height"])
        #expect(members.filter(\.isRequired).map(\.name) == ["id"])
    }

    private func text(_ value: some JSONCodable) -> String { String(decoding: value.json, as: UTF8.self) }
}

private struct Parcel: Equatable, JSONObjectCodable {
    var id: String
    var note: String?
    var weight = 1
    var labels: [String] = []
    var size = ParcelSize()

    static var initial: Self { Self(id: "") }

    mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("id", &id)
        try members.optional("note", &note) { $0.isEmpty ? "must not be empty" : nil }
        try members.defaulted("weight", &weight, 1)
        try members.nonempty("labels", &labels)
        try size.visit(&members)
    }
}

private struct ParcelSize: Equatable, JSONObjectCodable {
    var width: Int?
    var height: Int?

    static var initial: Self { Self() }

    mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("width", &width)
        try members.optional("height", &height)
    }
}
