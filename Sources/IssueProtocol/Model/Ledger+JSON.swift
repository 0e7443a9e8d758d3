package import IssueWire

extension Ledger: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var received: Int64?
        var counts: [Fate: Int64] = [:]
        try scanner.openFields()
        while let key = try scanner.nextField() {
            if key == "received" {
                try scanner.read(&received, key)
            } else if let fate = Fate(name: key) {
                try scanner.read(&counts[fate], key)
            } else {
                try scanner.skipField(key)
            }
        }
        self.init()
        self.received = try received.required("received")
        for fate in Fate.allCases { self[fate] = try counts[fate].required(fate.name) }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("received", received)
        for fate in Fate.allCases { writer.member(fate.name, self[fate]) }
        writer.closeObject()
    }
}
