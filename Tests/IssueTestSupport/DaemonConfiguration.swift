package import FakeLogz

/// What a daemon under test goes by, beside the places that the fixture gives it.
package struct DaemonConfiguration: Sendable, ExpressibleByStringLiteral {
    /// Sections, as in the file.
    package var text: String
    package var environment: [String: String] = [:]

    package init(stringLiteral text: String) {
        self.text = text
    }

    package init(_ text: String = "") {
        self.text = text
    }

    /// Forwards to a listener, without delay and, unless the text says else, without limits.
    package static func forwarding(to listener: FakeLogz, _ text: String = "") -> DaemonConfiguration {
        DaemonConfiguration(
            """
            [Limits]
            GroupBurst=1000000
            GroupRefill=0
            ApplicationRefill=0
            GlobalRefill=0
            [Forward]
            BatchDelay=0
            CriticalDelay=0
            SendRate=0
            [LogzIO]
            URL=http://127.0.0.1:\(listener.port)
            Credential=TOKENFILE
            \(text)
            """)
    }

    /// The token that the fixture puts into the daemon's file.
    package static let token = "a-token-of-this-test"

    /// The whole file.
    func file(socket: String, database: String, tokenFile: String) -> String {
        """
        [Socket]
        Path=\(socket)
        [Store]
        Path=\(database)
        [Log]
        Target=stderr
        Level=info
        \(text.replacing("TOKENFILE", with: tokenFile))

        """
    }
}
