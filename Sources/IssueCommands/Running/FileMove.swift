/// Moves a file to where nothing is yet, or into a folder, and answers where it is then.
package typealias FileMove = (_ source: String, _ destination: String) throws(CommandFailure) -> String
