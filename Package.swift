// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "issued",
    products: [
        .library(name: "Issues", targets: ["Issues"]),
        .library(name: "IssueBrowsing", targets: ["IssueBrowsing"]),
        .library(name: "IssuesPresenting", targets: ["IssuesPresenting"]),
        .library(name: "IssuesRedacting", targets: ["IssuesRedacting"]),
        .library(name: "IssuesFoundation", targets: ["IssuesFoundation"]),
        .executable(name: "issued", targets: ["issued"]),
        .executable(name: "issuectl", targets: ["issuectl"]),
        .executable(name: "issued-sql", targets: ["issued-sql"]),
        .executable(name: "fake-logz", targets: ["fake-logz"]),
        .executable(name: "torture-issued", targets: ["torture-issued"]),
    ],
    targets: [
        // Layer 0: model and wire, and the kernel.
        .target(name: "IssueWire"),
        .target(name: "IssueProtocol", dependencies: ["IssueWire"]),
        .target(name: "IssueSecrets", dependencies: ["IssueWire"]),
        .target(name: "CLinux"),
        .target(name: "UnixIO", dependencies: ["CLinux"]),

        // Layer 1: decisions, and mechanism without our domain.
        .target(name: "IssueCore", dependencies: ["IssueProtocol", "IssueSecrets"]),
        // The modules CSQLite, CLZ4, CCurl and CZlib. Each links its library only where it is imported.
        .systemLibrary(
            name: "CLibraries",
            providers: [.apt(["libsqlite3-dev", "liblz4-dev", "libcurl4-openssl-dev", "zlib1g-dev"])]),
        .target(name: "SQLiteKit", dependencies: ["CLibraries"]),
        .target(name: "HTTPTransfer", dependencies: ["CLibraries", "UnixIO"]),

        // Layer 2: adapters to the socket, the disk and the destinations.
        .target(name: "Issues", dependencies: ["IssueWire", "UnixIO"]),
        .target(name: "IssueBrowsing", dependencies: ["Issues", "IssueProtocol", "IssueWire", "UnixIO"]),
        .target(name: "IssuesPresenting", dependencies: ["Issues", "IssueWire", "UnixIO"]),
        .target(name: "IssuesRedacting", dependencies: ["Issues", "IssueSecrets"]),
        .target(name: "IssuesFoundation", dependencies: ["Issues", "IssuesPresenting"]),
        .target(name: "IssueStore", dependencies: ["SQLiteKit", "CLibraries", "IssueCore", "IssueProtocol"]),
        .target(name: "Destinations", dependencies: ["HTTPTransfer", "IssueCore", "IssueProtocol", "UnixIO"]),

        // Layer 3: services and wiring, and the commands.
        .target(
            name: "IssueDaemon",
            dependencies: [
                "IssueStore", "Destinations", "HTTPTransfer", "IssueCore", "IssueProtocol", "UnixIO",
            ]),
        .target(name: "IssueCommands", dependencies: ["IssueBrowsing", "Issues", "IssueProtocol", "UnixIO"]),

        // Layer 4: executables.
        .executableTarget(name: "issued", dependencies: ["IssueDaemon"]),
        .executableTarget(name: "issuectl", dependencies: ["IssueCommands"]),
        .executableTarget(
            name: "issued-sql",
            dependencies: ["IssueCommands", "IssueStore", "IssueCore", "IssueProtocol", "SQLiteKit", "UnixIO"]),

        // Tests, one target for each target above, and what they share.
        .target(name: "TestSockets", dependencies: ["UnixIO"], path: "Tests/TestSockets"),
        .target(
            name: "FakeLogz", dependencies: ["IssueProtocol", "UnixIO", "CLibraries", "TestSockets"],
            path: "Tests/FakeLogz"),
        .executableTarget(name: "fake-logz", dependencies: ["FakeLogz"], path: "Tests/fake-logz"),
        .target(
            name: "IssueTestSupport",
            dependencies: ["FakeLogz", "IssueProtocol", "SQLiteKit", "UnixIO", "CProcesses", "TestSockets"],
            path: "Tests/IssueTestSupport", exclude: ["relay.py"]),
        .target(
            name: "Torture",
            dependencies: ["IssueTestSupport", "FakeLogz", "IssueProtocol", "SQLiteKit", "UnixIO", "TestSockets"],
            path: "Tests/Torture"),
        .executableTarget(name: "torture-issued", dependencies: ["Torture"], path: "Tests/torture-issued"),
        .target(name: "CProcesses", path: "Tests/CProcesses"),
        .executableTarget(
            name: "fork-reporter", dependencies: ["Issues", "UnixIO", "CProcesses"], path: "Tests/fork-reporter"),
        .executableTarget(
            name: "client-under-test", dependencies: ["Issues", "UnixIO"], path: "Tests/client-under-test"),
        .testTarget(name: "IssueProtocolTests", dependencies: ["IssueProtocol"]),
        .testTarget(name: "UnixIOTests", dependencies: ["UnixIO", "TestSockets"]),
        .testTarget(name: "IssueCoreTests", dependencies: ["IssueCore", "IssueProtocol"]),
        .testTarget(name: "SQLiteKitTests", dependencies: ["SQLiteKit"]),
        .testTarget(
            name: "HTTPTransferTests", dependencies: ["HTTPTransfer", "FakeLogz", "UnixIO", "TestSockets"]),
        .testTarget(
            name: "IssuesTests",
            dependencies: ["Issues", "IssueBrowsing", "IssueTestSupport", "IssueProtocol", "UnixIO", "TestSockets"]),
        // The call forms once more, as a client of the mode of Swift 5 compiles them.
        .testTarget(
            name: "IssuesSwift5Tests", dependencies: ["Issues", "IssuesPresenting", "CommonNames"],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        .target(name: "CommonNames", path: "Tests/CommonNames"),
        .testTarget(
            name: "IssuesRedactingTests",
            dependencies: ["IssuesRedacting", "Issues", "IssueCore", "IssueTestSupport", "IssueProtocol"]),
        .testTarget(name: "IssuesPresentingTests", dependencies: ["IssuesPresenting", "Issues"]),
        .testTarget(
            name: "IssuesFoundationTests", dependencies: ["IssuesFoundation", "IssuesPresenting", "Issues"]),
        .target(name: "FaultVFS", dependencies: ["CLibraries"], path: "Tests/FaultVFS"),
        .testTarget(
            name: "IssueStoreTests",
            dependencies: ["IssueStore", "SQLiteKit", "FaultVFS", "IssueCore", "IssueProtocol"]),
        .testTarget(
            name: "DestinationsTests",
            dependencies: [
                "Destinations", "FakeLogz", "HTTPTransfer", "IssueCore", "IssueProtocol", "UnixIO", "TestSockets",
            ],
            resources: [.copy("Golden")]),
        .testTarget(name: "FakeLogzTests", dependencies: ["FakeLogz", "IssueProtocol", "UnixIO", "TestSockets"]),
        .testTarget(
            name: "IssueDaemonTests",
            dependencies: [
                "IssueDaemon", "Destinations", "IssueStore", "SQLiteKit", "IssueCore", "IssueTestSupport",
                "IssueProtocol", "UnixIO", "CProcesses", "TestSockets",
            ]),
        .testTarget(name: "IssueBrowsingTests", dependencies: ["IssueBrowsing", "Issues", "IssueProtocol"]),
        .testTarget(
            name: "IssueCommandsTests",
            dependencies: [
                "IssueCommands", "IssueBrowsing", "Issues", "IssueTestSupport", "IssueProtocol", "UnixIO",
            ]),
        .testTarget(
            name: "IssueSQLTests",
            dependencies: ["issued-sql", "IssueCommands", "IssueStore", "IssueTestSupport", "SQLiteKit", "UnixIO"]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "IssueTestSupport", "Torture", "FakeLogz", "IssueBrowsing", "Issues", "IssueProtocol", "UnixIO",
                "TestSockets",
            ],
            exclude: [
                "varlink_client.py", "fake_stores.py", "stream_listener.py", "tls_front.py", "proxy.py",
                "false_daemon.py", "complete_in_shell.py", "hostile_destination.py", "hostile_senders.py",
                "hostile_webhook.py", "pid_reuse.py", "restarts.py", "Fixtures",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// The fuzzers are built by `.ci/fuzz`, which asks for them and for the compiler's own fuzzing engine.
if Context.environment["ISSUED_FUZZ"] != nil {
    package.targets += [
        .target(name: "CWork", dependencies: ["CLibraries"], path: "Fuzz/CWork"),
        .executableTarget(
            name: "fuzz", dependencies: ["CWork", "IssueDaemon", "IssueCommands", "Issues"],
            path: "Fuzz/Sources"),
    ]
    package.products.append(.executable(name: "fuzz", targets: ["fuzz"]))
}

// Set once for all targets, so that none escapes.
for target in package.targets where target.type != .system {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            .enableUpcomingFeature("ExistentialAny"),
            .enableUpcomingFeature("MemberImportVisibility"),
            .enableUpcomingFeature("InternalImportsByDefault"),
            .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            .enableUpcomingFeature("InferIsolatedConformances"),
            // A scanner that borrows its bytes says so in its type; the attribute for that has no final name yet.
            .enableExperimentalFeature("Lifetimes"),
            .strictMemorySafety(),
            .treatAllWarnings(as: .error),
        ]
}
