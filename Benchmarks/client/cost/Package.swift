// swift-tools-version: 6.2
import PackageDescription

// Programs that measure the cost of the client library for an application. Run by ../../run --part client.
let package = Package(
    name: "client-benchmark",
    dependencies: [.package(name: "issued", path: "../../..")],
    targets: [
        .executableTarget(name: "client-cost", dependencies: [.product(name: "Issues", package: "issued")]),
        .executableTarget(name: "hello"),
        .executableTarget(name: "hello-tasks"),
        .executableTarget(name: "hello-issues", dependencies: [.product(name: "Issues", package: "issued")]),
        .executableTarget(
            name: "hello-redacting",
            dependencies: [
                .product(name: "Issues", package: "issued"), .product(name: "IssuesRedacting", package: "issued"),
            ]),
        .target(name: "calls", dependencies: [.product(name: "Issues", package: "issued")]),
        .target(name: "no-calls", dependencies: [.product(name: "Issues", package: "issued")]),
    ],
    swiftLanguageModes: [.v6]
)
