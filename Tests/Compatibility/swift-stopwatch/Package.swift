// swift-tools-version: 5.9
import PackageDescription

// A package like those that report through xctest-dynamic-overlay 1.x. It must build unchanged if
// `Compatibility/xctest-dynamic-overlay` replaces its dependency.
let package = Package(
    name: "swift-stopwatch",
    products: [
        .library(name: "Stopwatch", targets: ["Stopwatch"]),
        .library(name: "StopwatchTestSupport", targets: ["StopwatchTestSupport"]),
    ],
    dependencies: [
        .package(url: "https://github.com/pointfreeco/xctest-dynamic-overlay", from: "1.2.2")
    ],
    targets: [
        .target(
            name: "Stopwatch",
            dependencies: [
                .product(name: "IssueReporting", package: "xctest-dynamic-overlay"),
                .product(name: "XCTestDynamicOverlay", package: "xctest-dynamic-overlay"),
            ]),
        .target(
            name: "StopwatchTestSupport",
            dependencies: [
                "Stopwatch", .product(name: "IssueReportingTestSupport", package: "xctest-dynamic-overlay"),
            ]),
    ]
)
