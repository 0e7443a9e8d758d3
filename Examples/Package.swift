// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "examples",
    dependencies: [
        // Elsewhere this is the URL of the repository, and a version.
        .package(name: "issued", path: "..")
    ],
    targets: [
        .executableTarget(
            name: "storefront",
            dependencies: [.product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .executableTarget(
            name: "tally",
            dependencies: [.product(name: "Issues", package: "issued")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
    ],
    swiftLanguageModes: [.v6]
)
