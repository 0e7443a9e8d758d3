// swift-tools-version: 6.2
import PackageDescription

// Tests that are expected to fail, and programs that are expected to trap. IssuesTests starts them as processes and
// checks the results.
let package = Package(
    name: "failing",
    dependencies: [
        // The tests need only the library Issues: a test that reports needs no setup.
        .package(name: "issued", path: "../.."),
        // Replaces the package of this name on which swift-turnstile depends.
        .package(path: "../../Compatibility/swift-issue-reporting"),
        .package(path: "../Compatibility/swift-turnstile"),
    ],
    targets: [
        .executableTarget(
            name: "mishaps",
            dependencies: [
                .product(name: "Issues", package: "issued"), .product(name: "IssuesPresenting", package: "issued"),
            ]),
        .executableTarget(
            name: "moved-over", dependencies: [.product(name: "Turnstile", package: "swift-turnstile")]),
        .executableTarget(name: "links-testing", dependencies: [.product(name: "Issues", package: "issued")]),
        .executableTarget(name: "links-xctest", dependencies: [.product(name: "Issues", package: "issued")]),
        .testTarget(name: "FailingSwiftTesting", dependencies: [.product(name: "Issues", package: "issued")]),
        .testTarget(name: "FailingXCTest", dependencies: [.product(name: "Issues", package: "issued")]),
    ],
    swiftLanguageModes: [.v6]
)
