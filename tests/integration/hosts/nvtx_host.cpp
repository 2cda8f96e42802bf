// NVTX by its C++ interface.
#include <nvtx3/nvtx3.hpp>

struct library {
    static constexpr char const *name{"c++ library"};
};
struct text {
    static constexpr char const *message{"registered by c++"};
};
struct copies {
    static constexpr char const *name{"copies"};
    static constexpr uint32_t id{9};
};

static void function()
{
    NVTX3_FUNC_RANGE_IN(library);
}

int main()
{
    nvtx3::scoped_range outer{"scoped"};
    nvtx3::scoped_range_in<library> inner{nvtx3::event_attributes{
        nvtx3::registered_string_in<library>::get<text>(), nvtx3::payload{int64_t{7}},
        nvtx3::named_category_in<library>::get<copies>(), nvtx3::rgb{1, 2, 3}}};
    nvtx3::mark_in<library>(nvtx3::event_attributes{L"wide", nvtx3::payload{0.5}});
    function();
    nvtx3::unique_range{"unique"};
}
