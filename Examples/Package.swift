// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "examples",
    dependencies: [
        // In your own package, use the URL of the repository and a version.
        .package(name: "issued", path: ".."),
        // Replaces the package of this name on which swift-stopwatch depends, so that it reports through Issues.
        .package(path: "../Compatibility/xctest-dynamic-overlay"),
        .package(path: "../Tests/Compatibility/swift-stopwatch"),
    ],
    targets: [
        .executableTarget(
            name: "storefront",
            dependencies: [.product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .executableTarget(
            name: "tally",
            dependencies: [
                .product(name: "Issues", package: "issued"), .product(name: "IssuesPresenting", package: "issued"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .target(
            name: "LogHandling",
            dependencies: [.product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .target(
            name: "Basket",
            dependencies: [.product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .target(
            name: "MetricsCounting",
            dependencies: [.product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .target(
            name: "TraceContexts",
            dependencies: [.product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .target(
            name: "VaporReporting",
            dependencies: [.product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .target(
            name: "HummingbirdReporting",
            dependencies: [.product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .target(
            name: "ServiceReporting",
            dependencies: [.product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .target(
            name: "LambdaReporting",
            dependencies: [.product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        // No extra product for tests: a report fails the running test automatically.
        .testTarget(
            name: "BasketTests",
            dependencies: ["Basket", .product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "LogHandlingTests",
            dependencies: ["LogHandling", .product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "RecipeTests",
            dependencies: [
                "MetricsCounting", "TraceContexts", "VaporReporting", "HummingbirdReporting", "ServiceReporting",
                "LambdaReporting", .product(name: "Issues", package: "issued"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "CompatibilityTests",
            dependencies: [
                .product(name: "Stopwatch", package: "swift-stopwatch"),
                .product(name: "StopwatchTestSupport", package: "swift-stopwatch"),
                .product(name: "Issues", package: "issued"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
    ],
    swiftLanguageModes: [.v6]
)
