// swift-tools-version: 6.2
import PackageDescription

// To use the recipe, copy this folder and follow the numbered comments. The target
// `ServiceLifecycle` is a stand-in for the library, so that the recipe builds without a network.
// The tests use it, too.
let package = Package(
    name: "service-lifecycle-issues",
    products: [.library(name: "ServiceReporting", targets: ["ServiceReporting"])],
    dependencies: [
        // 1. Replace the path below with these two packages:
        //    .package(url: "…/issued", from: "0.1.0"),
        //    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.0.0"),
        .package(name: "issued", path: "../..")
    ],
    targets: [
        .target(
            name: "ServiceReporting",
            dependencies: [
                .product(name: "Issues", package: "issued"),
                // 2. Replace the name below with:
                //    .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
                "ServiceLifecycle",
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        // 3. Remove these two targets and their folders, StandIn and Tests. The tests need the stand-in.
        .target(name: "ServiceLifecycle", path: "StandIn", swiftSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "ServiceReportingTests",
            dependencies: ["ServiceReporting", "ServiceLifecycle", .product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
    ],
    swiftLanguageModes: [.v6]
)
