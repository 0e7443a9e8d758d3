import FakeLogz

/// Runs a listener that accepts the token "good", and stops it afterwards.
func listening(_ plan: FaultStep..., body: (FakeLogz) throws -> Void) throws {
    try listening(FakeLogzOptions(tokens: ["good"], plan: plan), body: body)
}

func listening(_ options: FakeLogzOptions, body: (FakeLogz) throws -> Void) throws {
    let fake = try FakeLogz(options)
    defer { fake.stop() }
    try body(fake)
}

extension FakeLogz {
    /// Sends a body on a new connection, and returns the response.
    func answer(
        to body: String, target: String = "/?token=good", headers: [String] = []
    ) throws -> RawAnswer {
        let client = try RawClient(port: port)
        try client.post(body, to: target, headers: headers)
        return try client.answer()
    }

    var acceptedIDs: [String] { accepted.compactMap(\.eventID) }
}
