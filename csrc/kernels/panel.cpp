#include "kernels/panel_table.h"
#include "kernels/targets.h"

namespace flambeau {

#define FLAMBEAU_DECLARE(target)        \
  namespace target {                    \
  extern const PanelFns panel_table[1]; \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
FLAMBEAU_DECLARE(avx512)
#undef FLAMBEAU_DECLARE

const PanelFns* panel_functions() {
  static const PanelFns* const tables[3] = {nullptr, FLAMBEAU_TABLE_AVX2(panel_table, 0),
                                            FLAMBEAU_TABLE_AVX512(panel_table, 0)};
  return tables[chosen_target()];
}

}  // namespace flambeau
