/// Which version of the product this is: daemon, command and what they say to others.
package enum ProductVersion {
    package static let text = "0.1.0"
}
