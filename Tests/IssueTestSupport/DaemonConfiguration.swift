package import FakeLogz

/// The configuration of a daemon under test, apart from the paths that the fixture assigns.
package struct DaemonConfiguration: Sendable, ExpressibleByStringLiteral {
    /// Sections in the syntax of the configuration file. `TOKENFILE` stands for the path of the token file.
    package var text: String
    package var environment: [String: String] = [:]

    package init(stringLiteral text: String) {
        self.text = text
    }

    package init(_ text: String = "") {
        self.text = text
    }

    /// Returns a configuration that forwards to a listener without delay and, unless `text` sets them, without limits.
    ///
    /// - Parameter text: Further lines of `[LogzIO]`, then further sections.
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

    /// The token that the fixture writes to the daemon's token file.
    package static let token = "a-token-of-this-test"

    /// Returns the complete configuration file.
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
