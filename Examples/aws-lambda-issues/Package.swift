// swift-tools-version: 6.2
import PackageDescription

// To use the recipe, copy this folder and follow the numbered comments. The target
// `AWSLambdaRuntime` is a stand-in for the library, so that the recipe builds without a network.
// The tests use it, too.
let package = Package(
    name: "aws-lambda-issues",
    products: [.library(name: "LambdaReporting", targets: ["LambdaReporting"])],
    dependencies: [
        // 1. Replace the path below with these two packages:
        //    .package(url: "…/issued", from: "0.1.0"),
        //    .package(url: "https://github.com/swift-server/swift-aws-lambda-runtime.git", from: "2.0.0"),
        .package(name: "issued", path: "../..")
    ],
    targets: [
        .target(
            name: "LambdaReporting",
            dependencies: [
                .product(name: "Issues", package: "issued"),
                // 2. Replace the name below with:
                //    .product(name: "AWSLambdaRuntime", package: "swift-aws-lambda-runtime")
                "AWSLambdaRuntime",
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        // 3. Remove these two targets and their folders, StandIn and Tests. The tests need the stand-in.
        .target(name: "AWSLambdaRuntime", path: "StandIn", swiftSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "LambdaReportingTests",
            dependencies: ["LambdaReporting", "AWSLambdaRuntime", .product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
    ],
    swiftLanguageModes: [.v6]
)
