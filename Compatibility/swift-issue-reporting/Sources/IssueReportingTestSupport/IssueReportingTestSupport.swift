// Empty, since Issues can fail a test without a support library. Packages that depend on this module can still link it.
