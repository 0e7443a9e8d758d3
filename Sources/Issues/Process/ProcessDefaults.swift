internal import UnixIO

/// What the process itself says about the application, read once.
struct ProcessDefaults: Sendable {
    var name: String
    var version: String?
    var environment: String?

    static let shared = ProcessDefaults()

    private init() {
        let path = CurrentProcess.executable ?? "unknown"
        name = Self.variable("ISSUED_APP") ?? path.split(separator: "/").last.map(String.init) ?? path
        version = Self.variable("ISSUED_VERSION")
        environment = Self.variable("ISSUED_ENVIRONMENT")
    }

    private static func variable(_ name: String) -> String? {
        UnixIO.Environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
