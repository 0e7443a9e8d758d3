// swift-tools-version: 6.2
import PackageDescription

// To use the recipe, copy this folder and follow the numbered comments. The target `CoreMetrics` is
// a stand-in for the library, so that the recipe builds without a network. The tests use it, too.
let package = Package(
    name: "swift-metrics-issues",
    products: [.library(name: "MetricsCounting", targets: ["MetricsCounting"])],
    dependencies: [
        // 1. Replace the path below with these two packages:
        //    .package(url: "…/issued", from: "0.1.0"),
        //    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.0.0"),
        .package(name: "issued", path: "../..")
    ],
    targets: [
        .target(
            name: "MetricsCounting",
            dependencies: [
                .product(name: "Issues", package: "issued"),
                // 2. Replace the name below with:
                //    .product(name: "CoreMetrics", package: "swift-metrics")
                "CoreMetrics",
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        // 3. Remove these two targets and their folders, StandIn and Tests. The tests need the stand-in.
        .target(name: "CoreMetrics", path: "StandIn", swiftSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "MetricsCountingTests",
            dependencies: ["MetricsCounting", "CoreMetrics", .product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
    ],
    swiftLanguageModes: [.v6]
)
