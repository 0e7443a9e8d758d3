internal import Glibc

/// Functions of libraries that this process may have loaded, and that it was not linked with.
package enum LoadedSymbols {
    /// The function of this name, as a value of a function type; nil if no loaded library has it.
    ///
    /// The caller must know that the type is that of the function: nobody checks it.
    @unsafe package static func function<Function>(_ name: String, as type: Function.Type) -> Function? {
        precondition(
            MemoryLayout<Function>.size == MemoryLayout<UInt>.size, "A thin function is one address")
        // NULL stands for all that is loaded: RTLD_DEFAULT of dlsym(3).
        guard let address = unsafe dlsym(nil, name) else { return nil }
        return unsafe unsafeBitCast(address, to: type)
    }

    /// Whether some loaded library has a symbol of this name.
    package static func has(_ name: String) -> Bool {
        unsafe dlsym(nil, name) != nil
    }
}
