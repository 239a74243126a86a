// The intermediate representation of TorchScript code.
#pragma once

namespace fxtrace::script {

class IrGraph {};

}  // namespace fxtrace::script
