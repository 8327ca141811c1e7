// swift-tools-version: 6.2
import PackageDescription

/// The experimental features that the sources need in both of their builds.
///
/// Ordinary Swift builds the library and the tests. Embedded Swift builds the products; `make
/// build` passes its flags.
let lifetimes: [SwiftSetting] = [
  .enableExperimentalFeature("Lifetimes"), .enableExperimentalFeature("RawLayout"),
]

/// The C targets' checks of buffer sizes.
///
/// These are not flags of the whole build, since Swift's importer would see glibc's checked
/// variants of functions such as `read`.
let checked: [CSetting] = [.define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release))]

/// The tests' settings: in a release build, the tests themselves are compiled as in a debug build.
///
/// The libraries are optimised, and the tests run in half the time. To optimise the tests as well
/// would take four times as long as to compile them.
let testing =
  lifetimes + [
    .unsafeFlags(
      [
        "-Onone", "-no-whole-module-optimization", "-incremental", "-enable-batch-mode",
        "-driver-batch-count", "2", "-no-emit-module-separately",
      ], .when(configuration: .release))
  ]

let package = Package(
  name: "TinyPush",
  products: [
    .executable(name: "tinypush", targets: ["tinypush"]),
    .executable(name: "tinypush-sandbox", targets: ["tinypush-sandbox"]),
    .executable(name: "tinypush-mqtt", targets: ["tinypush-mqtt"]),
    .executable(name: "tinypush-http", targets: ["tinypush-http"]),
    .executable(name: "tinypush-sendmail", targets: ["tinypush-sendmail"]),
    .library(name: "TinyPush", targets: ["TinyPush"]),
  ],
  targets: [
    .target(
      name: "CMbed", cSettings: checked,
      linkerSettings: [
        .linkedLibrary("mbedtls"), .linkedLibrary("mbedx509"), .linkedLibrary("mbedcrypto"),
      ]),
    .target(name: "CLinux", cSettings: checked),
    .target(
      name: "CHTTP2", cSettings: checked, linkerSettings: [.linkedLibrary("nghttp2")]),
    .target(
      name: "CMicroHTTP", cSettings: checked, linkerSettings: [.linkedLibrary("microhttpd")]),
    // The core depends on no C, so it cannot use a file, socket or clock.
    .target(name: "TinyPush", swiftSettings: lifetimes),
    .target(name: "TinyPushBinary", dependencies: ["TinyPush"], swiftSettings: lifetimes),
    .target(
      name: "TinyPushHTTP2", dependencies: ["TinyPush", "TinyPushWebPush", "CHTTP2"],
      swiftSettings: lifetimes),
    .target(
      name: "TinyPushAgent",
      dependencies: [
        "TinyPush", "TinyPushBinary", "TinyPushHTTP2", "TinyPushWebPush", "CMbed", "CLinux",
      ],
      swiftSettings: lifetimes),
    .target(name: "TinyPushRules", dependencies: ["TinyPush"], swiftSettings: lifetimes),
    .target(
      name: "TinyPushMQTT", dependencies: ["TinyPush", "TinyPushRules"],
      swiftSettings: lifetimes),
    .target(
      name: "TinyPushWebhooks", dependencies: ["TinyPush"],
      swiftSettings: lifetimes),
    .target(name: "TinyPushWebPush", dependencies: ["TinyPush"], swiftSettings: lifetimes),
    .target(name: "TinyPushMail", dependencies: ["TinyPush"], swiftSettings: lifetimes),
    .target(
      name: "TinyPushSandbox",
      dependencies: [
        "TinyPush", "TinyPushBinary", "TinyPushAgent", "TinyPushWebPush", "CHTTP2", "CMbed",
        "CLinux",
      ],
      swiftSettings: lifetimes),
    .target(
      name: "CommandArguments",
      dependencies: ["TinyPush", "TinyPushAgent", "TinyPushRules", "CLinux"],
      swiftSettings: lifetimes),
    .executableTarget(
      name: "tinypush",
      dependencies: ["TinyPush", "TinyPushAgent", "CommandArguments", "CMbed", "CLinux"],
      swiftSettings: lifetimes),
    .executableTarget(
      name: "tinypush-sandbox",
      dependencies: ["TinyPush", "TinyPushAgent", "TinyPushSandbox", "CommandArguments", "CLinux"],
      swiftSettings: lifetimes),
    .executableTarget(
      name: "tinypush-mqtt",
      dependencies: [
        "TinyPush", "TinyPushAgent", "TinyPushMQTT", "TinyPushRules", "CommandArguments", "CMbed",
        "CLinux",
      ],
      swiftSettings: lifetimes),
    .executableTarget(
      name: "tinypush-http",
      dependencies: [
        "TinyPush", "TinyPushAgent", "TinyPushWebhooks", "TinyPushRules", "CommandArguments",
        "CMicroHTTP", "CLinux",
      ],
      swiftSettings: lifetimes),
    .executableTarget(
      name: "tinypush-sendmail",
      dependencies: ["TinyPush", "TinyPushAgent", "TinyPushMail", "CommandArguments", "CLinux"],
      swiftSettings: lifetimes),
    .target(
      name: "Simulation",
      dependencies: ["TinyPush", "TinyPushBinary", "TinyPushHTTP2", "CHTTP2"],
      path: "Tests/Simulation",
      exclude: ["breakages"], swiftSettings: lifetimes),
    .executableTarget(
      name: "passes", dependencies: ["TinyPush", "TinyPushBinary", "TinyPushAgent", "CLinux"],
      path: "Tests/Benchmarks/Passes", swiftSettings: lifetimes),
    .executableTarget(name: "soak", dependencies: ["Simulation"], path: "Tests/Soak"),
    .executableTarget(
      name: "judge", dependencies: ["TinyPush", "TinyPushBinary", "TinyPushAgent", "CLinux"],
      path: "Tests/Judge"),
    .target(
      name: "Fuzz",
      dependencies: [
        "TinyPush", "TinyPushBinary", "TinyPushMail", "TinyPushWebhooks", "TinyPushMQTT",
        "TinyPushRules", "TinyPushSandbox", "TinyPushWebPush",
      ],
      path: "Tests/Fuzz",
      exclude: ["Entry.swift", "board", "certificates.c", "corpus", "dictionary", "fuzz"],
      swiftSettings: lifetimes),
    .executableTarget(
      name: "fuzzboard", dependencies: ["TinyPush", "TinyPushAgent", "Fuzz", "CLinux"],
      path: "Tests/FuzzBoard", swiftSettings: lifetimes),
    .testTarget(
      name: "TinyPushTests",
      dependencies: [
        "TinyPush", "TinyPushBinary", "TinyPushAgent", "TinyPushSandbox", "Simulation", "Fuzz",
      ],
      swiftSettings: testing),
    .testTarget(
      name: "TinyPushSandboxTests",
      dependencies: [
        "TinyPush", "TinyPushAgent", "TinyPushSandbox", "Simulation", "CHTTP2", "CMbed",
      ],
      swiftSettings: testing),
    .testTarget(
      name: "TinyPushMQTTTests",
      dependencies: ["TinyPush", "TinyPushMQTT", "TinyPushRules", "Simulation"],
      swiftSettings: testing),
    .testTarget(
      name: "TinyPushRulesTests", dependencies: ["TinyPush", "TinyPushRules"],
      swiftSettings: testing),
    .testTarget(
      name: "TinyPushWebhooksTests", dependencies: ["TinyPush", "TinyPushWebhooks"],
      swiftSettings: testing),
    .testTarget(
      name: "TinyPushMailTests", dependencies: ["TinyPush", "TinyPushMail", "TinyPushAgent"],
      swiftSettings: testing),
    .testTarget(
      name: "TinyPushWebPushTests", dependencies: ["TinyPush", "TinyPushWebPush"],
      swiftSettings: testing),
    .testTarget(
      name: "CommandTests", dependencies: ["TinyPush", "TinyPushAgent", "TinyPushRules"],
      swiftSettings: testing),
  ],
  swiftLanguageModes: [.v6]
)
