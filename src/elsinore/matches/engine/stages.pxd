from elsinore.matches.engine.possible cimport Worlds

cdef double chance_of_stages(Worlds worlds, int depth) noexcept nogil
