// swift-tools-version: 6.2
import PackageDescription

/// The folders of the recipes and their modules. Each is a package to copy. This package builds and tests all of them.
let recipes = [
    ("aws-lambda-issues", "LambdaReporting"),
    ("hummingbird-issues", "HummingbirdReporting"),
    ("service-lifecycle-issues", "ServiceReporting"),
    ("swift-distributed-tracing-issues", "TraceContexts"),
    ("swift-log-issues", "LogHandling"),
    ("swift-metrics-issues", "MetricsCounting"),
    ("vapor-issues", "VaporReporting"),
]

let package = Package(
    name: "examples",
    dependencies: [
        // In your own package, use the URL of the repository and a version.
        .package(name: "issued", path: ".."),
        // swift-stopwatch depends on a package of this name. With this one instead, it reports through Issues.
        .package(path: "../Compatibility/xctest-dynamic-overlay"),
        .package(path: "../Tests/Compatibility/swift-stopwatch"),
    ] + recipes.map { folder, _ in .package(path: folder) },
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
            name: "Basket",
            dependencies: [.product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        // No extra product for tests: a report fails the running test automatically.
        .testTarget(
            name: "BasketTests",
            dependencies: ["Basket", .product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "CompatibilityTests",
            dependencies: [
                .product(name: "Stopwatch", package: "swift-stopwatch"),
                .product(name: "StopwatchTestSupport", package: "swift-stopwatch"),
                .product(name: "Issues", package: "issued"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
    ]
        + recipes.map { folder, module in
            // SwiftPM runs only the tests of the root package.
            .testTarget(
                name: "\(module)Tests",
                dependencies: [
                    .product(name: module, package: folder), .product(name: "Issues", package: "issued"),
                ],
                path: "\(folder)/Tests/\(module)Tests",
                swiftSettings: [.treatAllWarnings(as: .error)])
        },
    swiftLanguageModes: [.v6]
)
