#pragma once
#include <zlib.h>

/*
 * deflateInit2 and inflateInit2 are macros, which Swift does not import: they pass the version of zlib and the size of
 * z_stream at compile time. Adding 16 to the window bits selects the gzip format instead of zlib's own.
 */

static inline int czlib_gzip_deflate_init(z_streamp stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
}

static inline int czlib_gzip_inflate_init(z_streamp stream) {
    return inflateInit2(stream, MAX_WBITS + 16);
}
