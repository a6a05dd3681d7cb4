; What Timelike takes from Incanter: exponential distributions by their rate.
(ns incanter.distributions)

(defn exponential-distribution [rate] {:rate rate :luck (java.util.Random.)})

(defn draw [d] (/ (- (Math/log (- 1.0 (.nextDouble ^java.util.Random (:luck d))))) (:rate d)))
