// swift-tools-version: 6.2
import PackageDescription

// To use the recipe, copy this folder and follow the numbered comments. The target `Logging` is a
// stand-in for the library, so that the recipe builds without a network. The tests use it, too.
let package = Package(
    name: "swift-log-issues",
    products: [.library(name: "LogHandling", targets: ["LogHandling"])],
    dependencies: [
        // 1. Replace the path below with these two packages:
        //    .package(url: "…/issued", from: "0.1.0"),
        //    .package(url: "https://github.com/apple/swift-log.git", from: "1.12.0"),
        .package(name: "issued", path: "../..")
    ],
    targets: [
        .target(
            name: "LogHandling",
            dependencies: [
                .product(name: "Issues", package: "issued"),
                // 2. Replace the name below with:
                //    .product(name: "Logging", package: "swift-log")
                "Logging",
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        // 3. Remove these two targets and their folders, StandIn and Tests. The tests need the stand-in.
        .target(name: "Logging", path: "StandIn", swiftSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "LogHandlingTests",
            dependencies: ["LogHandling", "Logging", .product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
    ],
    swiftLanguageModes: [.v6]
)
