from elsinore.operators.conditions.tables cimport Columns, Conditions, Registers

cdef bint all_hold(Conditions conditions, int listed, int listed_end, Columns events, long long current, Columns earlier, long long previous, Registers registers, long long before, long long final) noexcept nogil
cdef bint comparison_holds(Conditions conditions, int number, Columns events, long long current, Columns earlier, long long previous, Registers registers, long long before) noexcept nogil
cdef double value_of(Conditions conditions, int number, Columns events, long long current, Columns earlier, long long previous, Registers registers, long long before, long long final) noexcept nogil
